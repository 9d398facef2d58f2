import Ajv from 'ajv/dist/2020'
import { fillPath, make, openScene, operationsOf, register, unknownId } from '../kit.ts'
import type { OpenApi, Operation, Person, Schema } from '../kit.ts'
import { callsOf } from '../support/schema-check.ts'
import addFormats from 'ajv-formats'
import { createOwnProject, exampleFor } from '../http/own-project.ts'

const { service, client, ada } = await openScene(['Ada'])
const api = (await client.get('/../docs/json')).body as unknown as OpenApi

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
    if (!requestBody?.content?.['application/json'] || security.length === 0 || operationId === 'deleteMe')
      continue
    const [method = '', path = ''] = name.split(' ')
    const body = {
      ...(exampleFor(operation, ids) as object),
      ...(operationId === 'inviteMember' && exampleOf(operationId)),
    }
    const { status, text } = await ada.call(method.toUpperCase(), fillPath(path, ids), body)
    const expected = /^create|^inviteMember$|^upsert/.test(operationId) ? 201 : 200
    expect([name, status, text]).toEqual([name, expected, text])
  }
  expect((await ada.call('DELETE', '/auth/me', exampleOf('deleteMe'))).status).toBe(200)
})

const maxMessageCharacters = 110

const isText = ({ maxLength, format }: Schema) =>
  maxLength !== undefined && format !== 'email' && format !== 'uri'

/** Returns texts with lengths around each bound, made of one-unit and two-unit characters (UTF-16), and texts with control characters. */
const textsAround = ({ minLength = 0, maxLength = 0 }: Schema) => [
  ...[minLength - 1, minLength, maxLength, maxLength + 1]
    .filter((length) => length >= 0)
    .flatMap((length) => ['é', '🪐'].map((one) => one.repeat(length))),
  ...[' \t\n'.repeat(minLength), 'a\0b'.repeat(minLength || 1), `${' '.repeat(7)}ab cd ef${' '.repeat(7)}`],
  ...['\tab\tcd\n', 'ab\u202ecd', '\u2066ab', 'ab\u009b', '\u0085ab'],
]

test("the service accepts and rejects the same texts as the document's schemas, also at each length limit", async () => {
  const ajv = new Ajv({ strict: false, validateFormats: false }).addSchema(api, 'api')
  let accepted = 0
  for (const { name, method, path, fields, schema, body: example } of callsOf(api)) {
    for (const [field, one] of Object.entries(fields)) {
      if (!isText(one)) continue
      for (const text of textsAround(one)) {
        const at = path.replace(/\{\w+\}/g, unknownId)
        const { status, body } = await ada.call(method, at, { ...example, [field]: text })
        const isAccepted = status !== 400 || !body.message.startsWith(`${field} must be`)
        const fits = ajv.validate({ $ref: `api${schema!.$ref}/properties/${field}` }, text)
        const label = [name, field, text.length, text.slice(0, 9)]
        expect([...label, isAccepted ? 'accepted' : 'rejected']).toEqual([
          ...label,
          fits ? 'accepted' : 'rejected',
        ])
        if (fits) accepted += 1
      }
    }
  }
  expect(accepted).toBeGreaterThan(80)
})

test('every name and title rejects control and bidirectional-override characters', async () => {
  let rejected = 0
  for (const { name, method, path, fields, body: example } of callsOf(api))
    for (const field of ['name', 'title'].filter((one) => fields[one] && !fields[one].readOnly)) {
      const at = path.replace(/\{\w+\}/g, unknownId)
      const { status, body } = await ada.call(method, at, { ...example, [field]: 'Plate\u202e\u0007' })
      const expected =
        /^(name|title) must be a text of .*, without control or bidirectional-override characters$/
      expect([name, status, body.message]).toEqual([name, 400, expect.stringMatching(expected)])
      rejected += 1
    }
  expect(rejected).toBeGreaterThan(9)
})

/** Operations that would revoke the token of this test. */
const revoking = /logout/

test('an error message states the rule of a field in at most 110 characters, without an explanation', async () => {
  const { id } = await make(ada, '/projects', { name: 'P' })
  const messages = new Map<string, string>()
  const note = ({ status, body }: Awaited<ReturnType<Person['get']>>, of: string) => {
    if (status === 400) for (const part of body.message.split('; ')) messages.set(part, of)
  }
  for (const { name, operation, method, path, fields } of callsOf(api)) {
    if (method === 'DELETE' || revoking.test(path)) continue
    const at = path.replace(/\{\w+\}/g, id)
    const body = method === 'GET' ? undefined : {}
    for (const one of operation.parameters.filter(({ in: place }) => place === 'query'))
      note(await ada.call(method, `${at}?${one.name}=%21`, body), name)
    for (const one of Object.keys(fields)) note(await ada.call(method, at, { [one]: { x: 1 } }), name)
  }
  const texts = [...messages.keys()]
  expect(texts.length).toBeGreaterThan(40)
  expect(
    texts.filter((message) => message.length > maxMessageCharacters || /must be .*: /.test(message)),
  ).toEqual([])
  const expected = { asOf: 1, types: 3, type: 2, operations: 1, dryRun: 1 }
  for (const [field, count] of Object.entries(expected))
    expect(texts.filter((message) => message.startsWith(`${field} must be `))).toHaveLength(count)
})

test('an unknown operation name in a batch is rejected with the nearest name', async () => {
  const { id } = await make(ada, '/projects', { name: 'P' })
  const send = async (op: unknown) =>
    (await ada.post(`/projects/${id}/batch`, { operations: [{ op }] })).body.message
  const message = 'operations[0]: op must be the name of a command'
  expect(await send('task.creat')).toBe(`${message}; did you mean task.create?`)
  expect(await send('sing')).toBe(message)
})
