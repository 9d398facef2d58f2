import { expectError, invite, make, openScene, operationsOf, register, resolveSchema } from '../kit.ts'
import { unknownId } from '../kit.ts'
import type { OpenApi } from '../kit.ts'
import { queryFor } from './own-project.ts'
import { invalidNames, invalidTexts, validMultilineTexts, validTexts } from './sample-texts.ts'

const { client, ada } = await openScene(['Ada'])
const projectId = (await make(ada, '/projects', { name: 'P' })).id
const taskId = (await make(ada, '/tasks', { title: 'T', projectId })).id
const subtaskId = (await make(ada, `/tasks/${taskId}/subtasks`, { title: 'S' })).id
const commentId = (await make(ada, `/tasks/${taskId}/comments`, { text: 'C' })).id
const memberId = (await invite(ada, projectId, await register(client))).id
const api = (await client.get('/../docs/json')).body as unknown as OpenApi

const [project, task] = [`/projects/${projectId}`, `/tasks/${taskId}`]
const [subtasks, comments, members] = [`${task}/subtasks`, `${task}/comments`, `${project}/members`]
const [subtask, comment] = [`/tasks/subtasks/${subtaskId}`, `/tasks/comments/${commentId}`]
const role = `${members}/${memberId}/role`

const account = { name: 'A', email: 'fields@example.com', password: 'secret-1' }
/** The last field of each body is unknown. */
const typos: [method: string, path: string, body: object, suggestion?: string][] = [
  ['POST', '/auth/register', { ...account, nmae: 'B' }, 'name'],
  ['POST', '/auth/login', { ...account, pasword: 'x' }, 'password'],
  ['PATCH', '/auth/me', { fullName: 'B' }, 'name'],
  ['POST', '/projects', { name: 'P', desc: 'x' }, 'description'],
  ['PATCH', project, { Name: 'Q' }, 'name'],
  ['POST', `${members}/invite`, { email: ada.email, rôle: 'ADMIN' }, 'role'],
  ['PATCH', role, { role: 'ADMIN', admin: true }],
  ['POST', '/tasks', { title: 'T', projectId, asignee: ada.id }, 'assigneeId'],
  ['PATCH', task, { staus: 'DONE' }, 'status'],
  ['POST', subtasks, { title: 'S', text: 'x' }],
  ['PATCH', subtask, { complete: true }, 'completed'],
  ['POST', comments, { text: 'C', texts: 'x' }, 'text'],
  ['PATCH', comment, { text: 'D', projectId }],
]

test.each(typos)('%s %s rejects an unknown field with 400 and suggests the nearest name', async (...row) => {
  const [method, path, body, suggestion] = row
  const before = await ada.get(task)
  const hint = suggestion ? `; did you mean ${suggestion}?` : ''
  const message = `${Object.keys(body).at(-1)} is not known here${hint}`
  expectError(await ada.call(method, path, body), 400, message)
  expect((await ada.get(task)).text).toBe(before.text)
  expect((await ada.get('/auth/me')).body.name).toBe('Ada')
  expect((await ada.get(members)).body[0]!.role).toBe('VIEWER')
})

const text = (max: number) =>
  `a text of 1 to ${max} characters, without control or bidirectional-override characters`
const due = 'an ISO 8601 date-time with offset, or a date (midnight UTC), or null'
const messages: [body: unknown, message: string][] = [
  [{ title: '  ' }, `title must be ${text(500)}`],
  [{ title: null }, `title must be ${text(500)}`],
  [{ status: 'LATER' }, 'status must be one of TODO, IN_PROGRESS, DONE'],
  [{ dueDate: 'soon' }, `dueDate must be ${due}`],
  [[], 'The body must be a JSON object'],
  [{ due_date: 1 }, 'due_date is not known here; did you mean dueDate?'],
  [{ desc: 1 }, 'desc is not known here; did you mean description?'],
  ...['wheels', 'x', 'a/b~c', 'constructor', 'createdAtt', 'x'.repeat(5_000)].map(
    (name): [object, string] => [{ [name]: { deep: [1] } }, `${name.slice(0, 100)} is not known here`],
  ),
  [{ '': 1 }, '"" is not known here'],
  ['{"__proto__":{"status":"DONE"}}', '__proto__ is not known here'],
]

test('an error names the field and what it must be, and at most five fields', async () => {
  for (const [body, message] of messages) expectError(await ada.patch(task, body), 400, message)
  expectError(await ada.post('/tasks', { projectId }), 400, `title is required: ${text(500)}`)
  const wrong = { title: 1, status: 1, priority: 1, dueDate: 1, assigneeId: 1, remindAt: 1, externalId: 1 }
  expect((await ada.patch(task, wrong)).body.message.split('; ')).toHaveLength(5)
})

const changes: [read: string, write: string, change: object][] = [
  ['/auth/me', '/auth/me', { name: 'Ada K.' }],
  [project, project, { description: 'D' }],
  [task, task, { status: 'DONE' }],
  [subtasks, subtask, { completed: true }],
  [comments, comment, { text: 'C!' }],
  [members, role, { role: 'EDITOR' }],
]

test.each(changes)('the body from GET %s can be sent to PATCH %s', async (...row) => {
  const [readPath, path, change] = row
  const { body: read } = await ada.get(readPath)
  const resource = Array.isArray(read) ? read[0]! : read
  const unchanged = await ada.patch(path, resource)
  expect([unchanged.status, unchanged.body]).toEqual([200, resource])
  const { status, body } = await ada.patch(path, { ...resource, ...change, id: unknownId })
  const touched = 'updatedAt' in resource ? { updatedAt: body.updatedAt } : {}
  expect([status, body]).toEqual([200, Object.assign(resource, change, touched)])
})

test('sending a resource from GET to POST, without its id, creates a copy', async () => {
  const read = (await ada.get(project)).body
  const copy = await make(ada, '/projects', { ...read, id: undefined })
  expect(copy).toMatchObject({ name: read.name, ownerId: ada.id })
  expect(copy.id).not.toBe(read.id)
  const original = (await ada.get(task)).body
  const second = await make(ada, '/tasks', { ...original, id: undefined })
  expect([second.title, second.number]).toEqual([original.title, original.number + 1])
  expect(second.id).not.toBe(original.id)
})

test('the document lists the fields of every body, marks read-only fields, and forbids other fields', async () => {
  const { requestBody } = operationsOf(api).get('patch /api/v1/tasks/{id}')!
  const schema = resolveSchema(api, requestBody!.content!['application/json']!.schema.$ref!)
  expect(requestBody).toMatchObject({
    description: 'Read-only fields are ignored: id, createdAt, updatedAt, position, claim, importedAuthor',
  })
  const readOnly = Object.entries(schema.properties!).filter(([, one]) => one.readOnly)
  expect(readOnly.map(([name]) => name)).toEqual([
    ...['number', 'id', 'createdAt', 'updatedAt', 'position', 'claim', 'importedAuthor'],
  ])
  for (const [name, { requestBody: body }] of operationsOf(api)) {
    const { $ref } = body?.content?.['application/json']?.schema ?? {}
    if ($ref) expect([name, resolveSchema(api, $ref)]).toMatchObject([name, { additionalProperties: false }])
  }
})

test('every operation rejects an unknown query parameter with 400, or with 401 if the token is missing', async () => {
  for (const [name, operation] of operationsOf(api)) {
    const { requestBody, security } = operation
    const [method = '', path = ''] = name.replace('/api/v1', '').split(' ')
    const query = `${queryFor(operation, unknownId)}&unknown=1`.replace(/^&/, '?')
    const url = path.replace(/\{\w+\}/g, unknownId) + query
    const example = requestBody?.content?.['application/json']?.example
    const call = (caller = ada.as()) => caller.call(method.toUpperCase(), url, example)
    const { status, body } = await call(security.length > 0 ? ada : undefined)
    const message = expect.stringContaining('unknown is not known here')
    expect([name, status, body.message]).toEqual([name, 400, message])
    if (security.length > 0) expect([name, (await call()).status]).toEqual([name, 401])
  }
})

test('health checks and documentation pages ignore unknown parameters, but reject a URL that is too long', async () => {
  for (const path of ['/health/live', '/health/ready', '/api/docs', '/api/docs/json'])
    expect([path, (await client.get(`/../..${path}?unknown=1`)).status]).toEqual([path, 200])
  for (const check of ['live', 'ready'])
    expect((await client.get(`/../../health/${check}?x=${'x'.repeat(8_192)}`)).status).toBe(414)
})

type Texts = { valid: [sent: string, stored: string][]; invalid: unknown[] }
const names = (max: number): Texts => ({ valid: validTexts(max), invalid: invalidNames(max) })
const lines: Texts = { valid: validMultilineTexts(20_000), invalid: invalidTexts(20_000) }
const isBlank = (text: unknown) => text === null || /^\s*$/.test(String(text))
const optional: Texts = { ...lines, invalid: lines.invalid.filter((text) => !isBlank(text)) }

const texts: [resource: string, field: string, Texts, create: string, change: string, others?: object][] = [
  ['project', 'name', names(200), '/projects', project],
  ['project', 'description', optional, '/projects', project, { name: 'P' }],
  ['task', 'title', names(500), '/tasks', task, { projectId }],
  ['task', 'description', optional, '/tasks', task, { title: 'T', projectId }],
  ['subtask', 'title', names(500), subtasks, subtask],
  ['comment', 'text', lines, comments, comment],
]

test.each(texts)('%s.%s is stored trimmed, and an invalid text is rejected with 400', async (...row) => {
  const [, field, { valid, invalid }, create, change, others] = row
  for (const [sent, stored] of valid) {
    expect(await make(ada, create, { ...others, [field]: sent })).toMatchObject({ [field]: stored })
    expect((await ada.patch(change, { [field]: sent })).body).toMatchObject({ [field]: stored })
  }
  const message = new RegExp(`^${field} must be`)
  for (const text of invalid) {
    expectError(await ada.post(create, { ...others, [field]: text }), 400, message)
    expectError(await ada.patch(change, { [field]: text }), 400, message)
  }
  const without = await ada.post(create, others ?? {})
  if (row[2] === optional) expect(without.status).toBe(201)
  else expectError(without, 400, new RegExp(`^${field} is required`))
})
