import { expectError, expectResponse, faultsOf, make, openProject, openTeam, upTo } from '../kit.ts'

const { service, people, editor, viewer, countEvents } = await openTeam()
const sql = service.services.database.reads

async function open() {
  const projectId = await openProject(people)
  const pathTo = (segment: string) => `/projects/${projectId}/tasks/external/${segment}`
  const path = (externalId: string) => pathTo(encodeURIComponent(externalId))
  const put = (externalId: string, body: object, headers = {}) =>
    editor.call('PUT', path(externalId), body, headers)
  const batch = (operations: object[]) => editor.post(`/projects/${projectId}/batch`, { operations })
  const tasks = async () => (await viewer.get(`/tasks?projectId=${projectId}`)).body as object[]
  return { projectId, pathTo, path, put, batch, tasks }
}
const taken = (number: number) => `externalId must be unique in the project: task ${number} has it`

test('PUT creates a task once, then changes only the fields that it names, and writes no event when nothing changes', async () => {
  const { projectId, put, path } = await open()
  const id = 'JIRA/42 ä%'
  const key = { 'idempotency-key': crypto.randomUUID() }
  const body = { title: 'Wheels', priority: 'HIGH' }
  const made = await put(id, body, key)
  expect([made.status, made.body]).toMatchObject([201, { ...body, externalId: id, number: 1 }])
  expect(made.headers.get('location')).toBe(`/api/v1/tasks/${made.body.id}`)
  const again = await put(id, body, key)
  expect([again.status, again.text]).toEqual([201, made.text])
  expectResponse(await viewer.get(`/tasks/${made.body.id}`), 200, made.body)
  const changed = await put(id, { status: 'DONE' })
  expect([changed.status, changed.headers.get('location')]).toEqual([200, null])
  expect(changed.body).toMatchObject({ ...body, id: made.body.id, status: 'DONE' })
  const before = await countEvents(projectId)
  for (const same of [id, ` ${id} `]) expectResponse(await put(same, { status: 'DONE' }), 200, changed.body)
  expect(await countEvents(projectId)).toBe(before)
  expectError(await viewer.call('PUT', path(id), { title: 'X' }), 403)
  expectError(await people.stranger.call('PUT', path(id), { title: 'X' }), 404)
  expect(await faultsOf(sql)).toEqual([])
})

test('PUT rejects an invalid external id, a new task without a title, and a wrong If-Match', async () => {
  const { put, pathTo } = await open()
  for (const [segments, message] of [
    [['%00', '%20', 'x'.repeat(201), '%E2%80%AE'], /^externalId must be a text of 1 to 200/],
    [['%', '%zz', '%ff', 'a%E2%80'], /^externalId must be percent-encoded/],
  ] as const)
    for (const segment of segments)
      expectError(await editor.call('PUT', pathTo(segment), { title: 'T' }), 400, message)
  expectError(await put('A', {}), 400, /^title is required/)
  expectError(await put('A', { title: 'T' }, { 'if-match': '"x"' }), 412)
  const { headers } = await put('A', { title: 'T' })
  const condition = { 'if-match': headers.get('etag')! }
  expect((await put('A', { title: 'U' }, condition)).status).toBe(200)
  expectError(await put('A', { title: 'V' }, condition), 412)
  expectError(await put('A', { titel: 'V' }), 400, /did you mean title/)
})

test('a batch may name every external id, and a path every one but dots', async () => {
  const { projectId, put, path, batch } = await open()
  // A client may make another path of a segment of dots; socket.test.ts tests these segments.
  const dots = ['.', '..'].map((externalId) => ({ op: 'task.upsert', externalId, title: externalId }))
  for (const _ of upTo(2)) expect((await batch(dots)).status).toBe(200)
  for (const externalId of ['.', '..']) {
    const query = `projectId=${projectId}&externalId=${externalId}`
    expect((await viewer.get(`/tasks?${query}`)).body).toMatchObject([{ externalId, title: externalId }])
  }
  for (const externalId of [crypto.randomUUID().toUpperCase(), 'a+b', '?#&=;', '~%41', '€😀']) {
    const { id } = await make(editor, '/tasks', { projectId, title: 'T', externalId })
    expect((await put(externalId, { title: 'U' })).body).toMatchObject({ id, externalId, title: 'U' })
    const slash = await editor.call('PUT', `${path(externalId)}/`, { title: 'V' })
    expect(slash.body).toMatchObject({ id, title: 'V' })
  }
})

test('an external id is unique in its project, free again after a deletion, and kept by a move', async () => {
  const { projectId, put } = await open()
  const other = await open()
  const { id } = await make(editor, '/tasks', { projectId, title: 'One', externalId: ' A ' })
  const second = await make(editor, '/tasks', { projectId, title: 'Two' })
  const patch = (task: string, fields: object) => editor.patch(`/tasks/${task}`, fields)
  const undo = (seq: number) => editor.post(`/projects/${projectId}/undo`, { seq })
  expectError(await editor.post('/tasks', { projectId, title: 'Three', externalId: 'A' }), 409, taken(1))
  expectError(await patch(second.id, { externalId: 'A' }), 409, taken(1))
  expect((await other.put('A', { title: 'Elsewhere' })).status).toBe(201)
  expectError(await patch(id, { projectId: other.projectId }), 409, taken(1))
  await editor.delete(`/tasks/${id}`)
  const seq = await countEvents(projectId)
  expect((await patch(second.id, { externalId: 'A' })).body).toMatchObject({ externalId: 'A' })
  expectError(await undo(seq), 409, taken(2))
  const third = await open()
  const moved = await patch(second.id, { projectId: third.projectId })
  expect(moved.body).toMatchObject({ externalId: 'A', number: 1 })
  expect((await undo(seq)).status).toBe(200)
  expect((await put('A', { title: 'One again' })).body).toMatchObject({ id, title: 'One again' })
  expect((await third.put('A', { title: 'Moved' })).body).toMatchObject({ id: second.id })
  expect(await faultsOf(sql)).toEqual([])
})

test('a batch can create, change and rename tasks by their external ids', async () => {
  const { batch, tasks } = await open()
  const { status, text } = await batch([
    { op: 'task.upsert', as: 'a', externalId: 'A', title: 'One' },
    { op: 'task.upsert', externalId: 'A', status: 'DONE' },
    { op: 'task.update', id: '#a', externalId: 'B' },
    { op: 'task.upsert', externalId: 'A', title: 'Two' },
    { op: 'subtask.create', taskId: '#a', title: 'Oil' },
  ])
  expect([status, text]).toEqual([200, text])
  const late = [
    { op: 'task.upsert', externalId: 'C', title: 'Three' },
    { op: 'task.create', title: 'Four', externalId: 'B' },
  ]
  expectError(await batch(late), 409, `operations[1]: ${taken(1)}`)
  expect(await tasks()).toMatchObject([
    { title: 'One', externalId: 'B', status: 'DONE' },
    { title: 'Two', externalId: 'A' },
  ])
  expect(await faultsOf(sql)).toEqual([])
})

test('of many concurrent requests with one external id, one creates the task', async () => {
  const { put } = await open()
  const replies = await Promise.all(upTo(40).map((n) => put('A', { title: `T${n}` })))
  expect(replies.filter(({ status }) => status === 201)).toHaveLength(1)
  expect(new Set(replies.map(({ body }) => body.id)).size).toBe(1)
})
