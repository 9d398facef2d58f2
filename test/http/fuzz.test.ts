import { expect, setDefaultTimeout, test } from 'bun:test'
import fc from 'fast-check'
import { type Answer, invite, make, register } from '../support/client.ts'
import {
  type OpenApi,
  type Operation,
  operationsOf,
  resolveSchema,
  undocumentedParts,
} from '../support/schema-check.ts'
import { unknownId, expectError } from './responses.ts'
import { arbitraryBody, arbitraryId, arbitraryQuery, arbitraryHeaders } from './hostile.ts'
import { hostileBodies, hostileTexts } from './hostile-texts.ts'
import { createFullProject, registerTeam, type ProjectParts, openTeam } from './scene.ts'
import { cases } from '../support/depth.ts'

const seed = 20_270_131
const runsPerOperation = cases(20)
const patienceMs = 40_000
setDefaultTimeout(120_000)
const { client, people, guest } = await openTeam(['Guest'])
const api = (await client.get('/../docs/json')).body as unknown as OpenApi

async function inTime(answer: Promise<Answer>): Promise<Answer> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`no answer in ${patienceMs} ms`)), patienceMs)
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer))
}

/** Holds an answer to what is documented: a refusal in the error shape, or a success in its own. Never a 500. */
function expectSound(name: string, answer: Answer) {
  expect([name, answer.status >= 500 ? answer.text : 'sound']).toEqual([name, 'sound'])
  expect([name, undocumentedParts(api, operationsOf(api).get(name)!, answer)]).toEqual([name, []])
  if (answer.status < 400) return
  expectError(answer, answer.status)
  expect(answer.body.message).not.toMatch(/\[object|undefined|at \w+ \(|\bselect\b|postgres/i)
  expect(answer.body.message.length).toBeLessThan(1_000)
}

const filled = (path: string, ids: string[]) =>
  path.replace('/api/v1', '').replace(/\{\w+\}/g, () => ids.shift() ?? unknownId)

const aSoundId = ({ projectId, memberId, taskId, subtaskId, commentId }: ProjectParts) =>
  fc.constantFrom(projectId, memberId, taskId, subtaskId, commentId, unknownId)

test('every operation answers anything with a refusal or a success', async () => {
  for (const [name, operation] of operationsOf(api)) {
    const [method, path] = name.split(' ') as [string, string]
    // Whoever is asked to leave there is gone for the rest.
    const callers = path.startsWith('/api/v1/auth/') ? await registerTeam(client) : people
    const things = await createFullProject(people, guest)
    const aBody = arbitraryBody(rightFor(operation, things))
    const ids = fc.tuple(...ownIds(things, path).map((own) => anId(things, own)))
    const who = fc.constantFrom('owner' as const, 'editor' as const, 'stranger' as const)
    const aRequest = fc.record({ ids, who, query: arbitraryQuery, body: aBody, headers: arbitraryHeaders })
    const property = fc.asyncProperty(aRequest, async ({ ids, who, query, body, headers }) => {
      const sent = method === 'get' ? undefined : body
      const answer = callers[who].call(method.toUpperCase(), filled(path, [...ids]) + query, sent, headers)
      expectSound(name, await inTime(answer))
    })
    await fc.assert(property, { seed, numRuns: runsPerOperation })
  }
})

/** A body with every field that the operation takes, those too that its example leaves out. */
const rightFor = ({ requestBody }: Operation, { projectId }: ProjectParts): object => {
  const { schema, example } = requestBody?.content?.['application/json'] ?? {}
  if (!schema) return {}
  const { properties = {} } = resolveSchema(api, schema.$ref!)
  const taken = Object.entries(properties).filter(([name, { readOnly }]) => name !== 'id' && !readOnly)
  const own: Record<string, unknown> = {
    projectId,
    assigneeId: people.owner.id,
    email: people.stranger.email,
  }
  const given: Record<string, unknown> = { ...(example as object), ...own }
  return Object.fromEntries(taken.map(([name, { examples = [] }]) => [name, given[name] ?? examples[0]]))
}

const ownIds = (things: ProjectParts, path: string): string[] =>
  [...path.matchAll(/(\w+)s\/\{\w+\}/g)].map(([, kind]) => things[`${kind}Id` as keyof ProjectParts])

/** An id, mostly the one that belongs there: a request should get as far as it can. */
const anId = (things: ProjectParts, own = unknownId) =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constant(own) },
    { weight: 1, arbitrary: aSoundId(things) },
    { weight: 1, arbitrary: arbitraryId },
  )

test('every operation answers each hostile body, and each hostile text in each of its fields', async () => {
  for (const [name, operation] of operationsOf(api)) {
    if (!operation.requestBody) continue
    const [method, path] = name.split(' ') as [string, string]
    const things = await createFullProject(people, guest)
    const ids = ownIds(things, path)
    const { owner } = path.startsWith('/api/v1/auth/') ? await registerTeam(client) : people
    const send = async (body: string) =>
      expectSound(name, await inTime(owner.call(method.toUpperCase(), filled(path, [...ids]), body)))
    for (const body of hostileBodies) await send(body)
    const right = rightFor(operation, things)
    for (const field of Object.keys(right))
      for (const text of hostileTexts) await send(JSON.stringify({ ...right, [field]: text }))
  }
})

test('a hostile Authorization is refused and nothing more', async () => {
  const token = people.owner.token!
  const aToken = fc.oneof(
    fc.string({ maxLength: 300 }),
    fc.constantFrom(
      ...hostileTexts.filter((text) => /^[\x20-\x7e]*$/.test(text)),
      `${token}x`,
      'x'.repeat(9_000),
    ),
    fc.tuple(fc.base64String(), fc.base64String(), fc.base64String()).map((parts) => parts.join('.')),
  )
  const property = fc.asyncProperty(
    aToken,
    fc.constantFrom('Bearer ', 'bearer', '', 'Basic '),
    async (text, scheme) => {
      const answer = client.get('/auth/me', { authorization: scheme + text.trim() })
      expectError(await inTime(answer), 401)
    },
  )
  await fc.assert(property, { seed, numRuns: cases(60) })
})

test('afterwards the service works as before', async () => {
  const things = await createFullProject(people, await register(client))
  await invite(people.owner, things.projectId, guest)
  const task = await make(people.editor, '/tasks', { title: 'After', projectId: things.projectId })
  expect(task.number).toBe(2)
  expect((await people.viewer.get(`/tasks?projectId=${things.projectId}`)).body).toHaveLength(2)
  expect((await client.get('/../../health/ready')).body).toMatchObject({ status: 'ok' } as never)
})
