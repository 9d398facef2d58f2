import { expect, test } from 'bun:test'
import { invite, make, register } from '../support/client.ts'
import { type OpenApi, operationsOf, resolveSchema } from '../support/schema-check.ts'
import { unknownId, expectError } from './responses.ts'
import { validMultilineTexts, validTexts, invalidNames, invalidTexts } from './texts.ts'
import { openScene } from '../support/scene.ts'

const { client, ada } = await openScene(['Ada'])
const projectId = (await make(ada, '/projects', { name: 'P' })).id
const taskId = (await make(ada, '/tasks', { title: 'T', projectId })).id
const { id: subtaskId } = await make(ada, `/tasks/${taskId}/subtasks`, { title: 'S' })
const { id: commentId } = await make(ada, `/tasks/${taskId}/comments`, { text: 'C' })

test('a field that a resource does not have is refused with the one that was meant, and nothing is done', async () => {
  const guest = await register(client)
  const { id: memberId } = await invite(ada, projectId, guest)
  const account = { name: 'A', email: 'fields@example.com', password: 'secret-1' }
  const members = `/projects/${projectId}/members`
  /** The unknown field is the last one of each body. */
  const wrongs: [method: string, path: string, body: object, meant?: string][] = [
    ['POST', '/auth/register', { ...account, nmae: 'B' }, 'name'],
    ['POST', '/auth/login', { ...account, pasword: 'x' }, 'password'],
    ['PATCH', '/auth/me', { fullName: 'B' }, 'name'],
    ['POST', '/projects', { name: 'P', desc: 'x' }, 'description'],
    ['PATCH', `/projects/${projectId}`, { Name: 'Q' }, 'name'],
    ['POST', `${members}/invite`, { email: ada.email, rôle: 'ADMIN' }, 'role'],
    ['PATCH', `${members}/${memberId}/role`, { role: 'ADMIN', admin: true }],
    ['POST', '/tasks', { title: 'T', projectId, asignee: ada.id }, 'assigneeId'],
    ['PATCH', `/tasks/${taskId}`, { staus: 'DONE' }, 'status'],
    ['POST', `/tasks/${taskId}/subtasks`, { title: 'S', text: 'x' }],
    ['PATCH', `/tasks/subtasks/${subtaskId}`, { complete: true }, 'completed'],
    ['POST', `/tasks/${taskId}/comments`, { text: 'C', texts: 'x' }, 'text'],
    ['PATCH', `/tasks/comments/${commentId}`, { text: 'D', projectId }],
  ]
  const before = await ada.get(`/tasks/${taskId}`)
  for (const [method, path, body, meant] of wrongs) {
    const message = `${Object.keys(body).at(-1)} is not known here${meant ? `; did you mean ${meant}?` : ''}`
    expectError(await ada.call(method, path, body), 400, message)
  }
  expect((await ada.get(`/tasks/${taskId}`)).text).toBe(before.text)
  expect((await ada.get('/auth/me')).body.name).toBe('Ada')
  expect((await ada.get(`/projects/${projectId}/members`)).body[0]!.role).toBe('VIEWER')
})

test('what was read can be sent back, changed or not, and what is only read stays', async () => {
  const path = `/tasks/${taskId}`
  await make(ada, `${path}/subtasks`, { title: 'S' })
  await make(ada, `${path}/comments`, { text: 'C' })
  await invite(ada, projectId, await register(client))
  const [subtask] = (await ada.get(`${path}/subtasks`)).body
  const [comment] = (await ada.get(`${path}/comments`)).body
  const [member] = (await ada.get(`/projects/${projectId}/members`)).body
  const own: [string, string, object][] = [
    ['/auth/me', '/auth/me', { name: 'Ada K.' }],
    [`/projects/${projectId}`, `/projects/${projectId}`, { description: 'D' }],
    [path, path, { status: 'DONE' }],
    [`${path}/subtasks`, `/tasks/subtasks/${subtask!.id}`, { completed: true }],
    [`${path}/comments`, `/tasks/comments/${comment!.id}`, { text: 'C!' }],
    [
      `/projects/${projectId}/members`,
      `/projects/${projectId}/members/${member!.id}/role`,
      { role: 'EDITOR' },
    ],
  ]
  for (const [readAt, writeAt, change] of own) {
    const read = (await ada.get(readAt)).body
    const resource = Array.isArray(read) ? read[0]! : read
    const same = await ada.patch(writeAt, resource)
    expect([writeAt, same.status, same.body]).toEqual([writeAt, 200, resource])
    const id = '0199abcd-0000-7000-8000-00000000cafe'
    const { status, body } = await ada.patch(writeAt, { ...resource, ...change, id })
    const touched = 'updatedAt' in resource ? { updatedAt: body.updatedAt } : {}
    expect([writeAt, status, body]).toEqual([writeAt, 200, Object.assign(resource, change, touched)])
  }
})

test('a copy of what was read can be created, but for its id', async () => {
  const project = (await ada.get(`/projects/${projectId}`)).body
  const copy = await make(ada, '/projects', { ...project, id: undefined })
  expect(copy).toMatchObject({ name: project.name, ownerId: ada.id })
  expect(copy.id).not.toBe(project.id)
  const task = (await ada.get(`/tasks/${taskId}`)).body
  const again = await make(ada, '/tasks', { ...task, id: undefined })
  expect([again.title, again.number, again.id === task.id]).toEqual([task.title, task.number + 1, false])
})

test('the document says which fields a body takes, which it ignores, and that it takes no others', async () => {
  const api = (await client.get('/../docs/json')).body as unknown as OpenApi
  const { requestBody } = operationsOf(api).get('patch /api/v1/tasks/{id}')!
  const schema = resolveSchema(api, requestBody!.content!['application/json']!.schema.$ref!)
  expect(schema).toMatchObject({ additionalProperties: false })
  expect(requestBody).toMatchObject({
    description: 'Read-only fields may come along and are ignored: id, number, createdAt, updatedAt',
  })
  const readOnly = Object.entries(schema.properties!).filter(([, one]) => one.readOnly)
  expect(readOnly.map(([name]) => name)).toEqual(['id', 'number', 'createdAt', 'updatedAt'])
  for (const [name, one] of operationsOf(api)) {
    const body = one.requestBody?.content?.['application/json']?.schema
    if (body) {
      const { $ref = '' } = body
      expect([name, resolveSchema(api, $ref)]).toMatchObject([name, { additionalProperties: false }])
    }
  }
})

test('a parameter that an operation does not know is refused wherever it is given, once it is known who asks', async () => {
  const api = (await client.get('/../docs/json')).body as unknown as OpenApi
  for (const [name, { requestBody, security }] of operationsOf(api)) {
    const [method, path] = name.replace('/api/v1', '').split(' ') as [string, string]
    const call = (who = ada.as()) =>
      who.call(
        method.toUpperCase(),
        `${path.replace(/\{\w+\}/g, unknownId)}?unknown=1`,
        requestBody?.content?.['application/json']?.example,
      )
    const { status, body } = await call(security.length > 0 ? ada : undefined)
    expect([name, status, body.message]).toEqual([name, 400, 'unknown is not known here'])
    if (security.length > 0) expect([name, (await call()).status]).toEqual([name, 401])
  }
})

test('a check of health rejects a URL that is too long, as is documented', async () => {
  for (const check of ['live', 'ready'])
    expect((await client.get(`/../../health/${check}?x=${'x'.repeat(8_192)}`)).status).toBe(414)
})

test('what probes and browsers add to the pages around the API is passed over', async () => {
  for (const path of ['/health/live', '/health/ready', '/api/docs', '/api/docs/json'])
    expect([path, (await client.get(`/../..${path}?unknown=1`)).status]).toEqual([path, 200])
})

type Texts = { right: [sent: string, stored: string][]; wrong: unknown[] }
const names = (most: number): Texts => ({ right: validTexts(most), wrong: invalidNames(most) })
const lines: Texts = { right: validMultilineTexts(20_000), wrong: invalidTexts(20_000) }
const isNotBlank = (text: unknown) => text !== null && !/^\s*$/.test(String(text))
const optional: Texts = { ...lines, wrong: lines.wrong.filter(isNotBlank) }

/** Each text of a resource: how it is created, with the other fields that takes, and how it is changed. */
const texts: [what: string, field: string, Texts, create: string, change: string, others?: object][] = [
  ['project', 'name', names(200), '/projects', `/projects/${projectId}`],
  ['project', 'description', optional, '/projects', `/projects/${projectId}`, { name: 'P' }],
  ['task', 'title', names(500), '/tasks', `/tasks/${taskId}`, { projectId }],
  ['task', 'description', optional, '/tasks', `/tasks/${taskId}`, { title: 'T', projectId }],
  ['subtask', 'title', names(500), `/tasks/${taskId}/subtasks`, `/tasks/subtasks/${subtaskId}`],
  ['comment', 'text', lines, `/tasks/${taskId}/comments`, `/tasks/comments/${commentId}`],
]

test.each(texts)('%s: %s is stored trimmed, and what it cannot be is refused', async (...one) => {
  const [, field, { right, wrong }, create, change, others] = one
  for (const [sent, stored] of right) {
    expect(await make(ada, create, { ...others, [field]: sent })).toMatchObject({ [field]: stored })
    expect((await ada.patch(change, { [field]: sent })).body).toMatchObject({ [field]: stored })
  }
  for (const text of wrong) {
    const named = new RegExp(`^${field} must be`)
    expectError(await ada.post(create, { ...others, [field]: text }), 400, named)
    expectError(await ada.patch(change, { [field]: text }), 400, named)
  }
  const required = one[2] === optional ? 201 : 400
  const without = await ada.post(create, others ?? {})
  expect(without.status).toBe(required)
  if (required === 400) expectError(without, 400, new RegExp(`^${field} is required`))
})
