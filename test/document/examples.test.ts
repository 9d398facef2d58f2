import Ajv from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import { expect, test } from 'bun:test'
import { createOwnProject, exampleFor } from '../http/own-project.ts'
import { fillPath } from '../http/scene.ts'
import { make, type Person, register } from '../support/client.ts'
import { type OpenApi, type Operation, operationsOf } from '../support/schema-check.ts'
import { openScene } from '../support/scene.ts'

const { service } = await openScene()
const api = (await service.client.get('/../docs/json')).body as unknown as OpenApi
const operations: Map<string, Operation> = operationsOf(api)

test('every example matches its schema', () => {
  const ajv = addFormats(new Ajv({ strict: false, allErrors: true }))
  ajv.addSchema(api, 'api')
  const mismatches: string[] = []
  let count = 0
  const visit = (value: unknown, at: string): void => {
    if (typeof value !== 'object' || value === null) return
    const { schema, example } = value as { schema?: object; example?: unknown }
    if (schema && example !== undefined) {
      const validate = ajv.compile({ $ref: `api#${at}/schema` })
      count += 1
      if (!validate(example)) mismatches.push(`${at}: ${ajv.errorsText(validate.errors)}`)
    }
    for (const [key, one] of Object.entries(value))
      visit(one, `${at}/${encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))}`)
  }
  visit(api, '')
  expect(mismatches).toEqual([])
  expect(count).toBeGreaterThan(80)
})

const exampleOf = (id: string): Record<string, unknown> => {
  const operation = [...operations.values()].find(({ operationId }) => operationId === id)
  return operation!.requestBody!.content!['application/json']!.example as Record<string, unknown>
}

test('every example body succeeds once ids of existing resources are set', async () => {
  const { client } = service
  const registered = await client.post('/auth/register', exampleOf('register'))
  expect(registered.status).toBe(201)
  expect((await client.post('/auth/login', exampleOf('login'))).status).toBe(200)
  const ada = client.as(registered.body.access_token) as Person
  const invitee = { ...exampleOf('register'), ...exampleOf('inviteMember') }
  await client.post('/auth/register', { name: 'Grace', email: invitee.email, password: 'secret-1' })
  const own = await createOwnProject(ada, await register(client), await register(client))
  const comment = await make(ada, `/tasks/${own.taskId}/comments`, exampleOf('createComment'))
  const ids = { ...own, commentId: comment.id }

  for (const [name, operation] of operations) {
    const { operationId, requestBody, security } = operation
    if (!requestBody || security.length === 0 || operationId === 'deleteMe') continue
    const [method = '', path = ''] = name.split(' ')
    const body = {
      ...exampleFor(operation, ids),
      ...(operationId === 'inviteMember' && exampleOf(operationId)),
    }
    const { status, text } = await ada.call(method.toUpperCase(), fillPath(path, ids), body)
    const expected = /^create|^inviteMember$|^upsert/.test(operationId) ? 201 : 200
    expect([name, status, text]).toEqual([name, expected, text])
  }
  expect((await ada.call('DELETE', '/auth/me', exampleOf('deleteMe'))).status).toBe(200)
})
