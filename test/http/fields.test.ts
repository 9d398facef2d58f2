import { expectError, invite, make, openScene, operationsOf, register, resolveSchema } from '../kit.ts'
import { unknownId } from '../kit.ts'
import type { OpenApi } from '../kit.ts'

const { client, ada } = await openScene(['Ada'])
const projectId = (await make(ada, '/projects', { name: 'P' })).id
const taskId = (await make(ada, '/tasks', { title: 'T', projectId })).id
const subtaskId = (await make(ada, `/tasks/${taskId}/subtasks`, { title: 'S' })).id
const commentId = (await make(ada, `/tasks/${taskId}/comments`, { text: 'C' })).id
const memberId = (await invite(ada, projectId, await register(client))).id
const api = (await client.get('/../docs/json')).body as unknown as OpenApi

const [project, task] = [`/projects/${projectId}`, `/tasks/${taskId}`]
const members = `${project}/members`

const account = { name: 'A', email: 'fields@example.com', password: 'secret-1' }
/** The last field of each body is unknown. */
const typos: [method: string, path: string, body: object, suggestion?: string][] = [
  ['POST', '/auth/register', { ...account, nmae: 'B' }, 'name'],
  ['POST', '/auth/login', { ...account, pasword: 'x' }, 'password'],
  ['PATCH', '/auth/me', { fullName: 'B' }, 'name'],
  ['POST', '/projects', { name: 'P', desc: 'x' }, 'description'],
  ['POST', '/projects', { name: 'P', version: 9 }],
  ['PATCH', project, { Name: 'Q' }, 'name'],
  ['POST', `${members}/invite`, { email: ada.email, rôle: 'ADMIN' }, 'role'],
  ['PATCH', `${members}/${memberId}/role`, { role: 'ADMIN', admin: true }],
  ['POST', '/tasks', { title: 'T', projectId, asignee: ada.id }, 'assigneeId'],
  ['PATCH', task, { staus: 'DONE' }, 'status'],
  ['POST', `${task}/subtasks`, { title: 'S', text: 'x' }],
  ['PATCH', `/tasks/subtasks/${subtaskId}`, { complete: true }, 'completed'],
  ['POST', `${task}/comments`, { text: 'C', texts: 'x' }, 'text'],
  ['PATCH', `/tasks/comments/${commentId}`, { text: 'D', projectId }],
]

test('an unknown field is rejected with 400 and the nearest name, and nothing changes', async () => {
  const before = await ada.get(task)
  for (const [method, path, body, suggestion] of typos) {
    const hint = suggestion ? `; did you mean ${suggestion}?` : ''
    const message = `${Object.keys(body).at(-1)} is not known here${hint}`
    expectError(await ada.call(method, path, body), 400, message)
  }
  expect((await ada.get(task)).text).toBe(before.text)
  const { body: own } = await ada.get('/auth/me')
  expect([own.name, (await ada.patch('/auth/me', { ...own, id: unknownId })).body]).toEqual(['Ada', own])
  expect((await ada.get(members)).body[0]!.role).toBe('VIEWER')
})

const text = 'a text of 1 to 500 characters, without control or bidirectional-override characters'
const due = 'an ISO 8601 date-time with offset, or a date (midnight UTC), or null'
const messages: [body: unknown, message: string][] = [
  [{ title: '  ' }, `title must be ${text}`],
  [{ status: 'LATER' }, 'status must be one of TODO, IN_PROGRESS, DONE'],
  [{ dueDate: 'soon' }, `dueDate must be ${due}`],
  [[], 'The body must be a JSON object'],
  [{ due_date: 1 }, 'due_date is not known here; did you mean dueDate?'],
  ...['wheels', 'x', 'a/b~c', 'constructor', 'createdAtt', 'x'.repeat(5_000)].map(
    (name): [object, string] => [{ [name]: { deep: [1] } }, `${name.slice(0, 100)} is not known here`],
  ),
  [{ '': 1 }, '"" is not known here'],
  ['{"__proto__":{"status":"DONE"}}', '__proto__ is not known here'],
]

test('an error names the field and what it must be, and at most five fields', async () => {
  for (const [body, message] of messages) expectError(await ada.patch(task, body), 400, message)
  expectError(await ada.post('/tasks', { projectId }), 400, `title is required: ${text}`)
  const wrong = { title: 1, status: 1, priority: 1, dueDate: 1, assigneeId: 1, remindAt: 1, externalId: 1 }
  expect((await ada.patch(task, wrong)).body.message.split('; ')).toHaveLength(5)
})

test('the document lists the fields of every body, marks read-only fields, and forbids other fields', async () => {
  const { requestBody } = operationsOf(api).get('patch /api/v1/tasks/{id}')!
  const schema = resolveSchema(api, requestBody!.content!['application/json']!.schema.$ref!)
  const ignored = ['id', 'createdAt', 'updatedAt', 'position', 'claim', 'importedAuthor']
  expect(requestBody).toMatchObject({ description: `Read-only fields are ignored: ${ignored.join(', ')}` })
  const readOnly = Object.entries(schema.properties!).filter(([, one]) => one.readOnly)
  expect(readOnly.map(([name]) => name)).toEqual(['number', ...ignored])
  for (const [name, { requestBody: body }] of operationsOf(api)) {
    const { $ref } = body?.content?.['application/json']?.schema ?? {}
    if ($ref) expect([name, resolveSchema(api, $ref)]).toMatchObject([name, { additionalProperties: false }])
  }
})

test('health checks and documentation pages ignore unknown parameters, but reject a URL that is too long', async () => {
  for (const path of ['/health/live', '/health/ready', '/api/docs', '/api/docs/json'])
    expect([path, (await client.get(`/../..${path}?unknown=1`)).status]).toEqual([path, 200])
  for (const check of ['live', 'ready'])
    expect((await client.get(`/../../health/${check}?x=${'x'.repeat(8_192)}`)).status).toBe(414)
})
