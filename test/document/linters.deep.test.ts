import { createConfig, lintFromString } from '@redocly/openapi-core'
import spectral from '@stoplight/spectral-core'
import { oas } from '@stoplight/spectral-rulesets'
import { openScene } from '../kit.ts'

const { text } = await (await openScene()).client.get('/../docs/json')

/** The contract requires both `/tasks/{id}/comments` and `/tasks/comments/{id}`. */
const requiredByContract = ['no-ambiguous-paths']

test("Redocly's recommended rules report only the two paths that the contract requires", async () => {
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source: text, absoluteRef: 'openapi.json', config })
  const found = problems.filter(({ ruleId }) => !requiredByContract.includes(ruleId))
  expect(found.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([])
  for (const { message } of problems) expect(message).toMatch(/tasks\/(subtasks|comments)\/\{id\}/)
})

/** These rules need most of the time; messages.test.ts compares the examples with their schemas. */
const slow = { 'oas3-valid-media-example': 'off', 'oas3-valid-schema-example': 'off' }

test("Spectral's recommended rules find nothing", async () => {
  const linter = new spectral.Spectral()
  linter.setRuleset({ extends: [[oas, 'recommended']], rules: slow } as never)
  const found = await linter.run(JSON.parse(text))
  expect(found.map(({ code, message, path }) => `${code}: ${message} at ${path.join('.')}`)).toEqual([])
})
