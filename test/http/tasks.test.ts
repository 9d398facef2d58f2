import { anId, aTimestamp, expectError, expectResponse, invite, make, malformedIds } from '../kit.ts'
import { openProject, openTeam, unknownId, words } from '../kit.ts'
import type { Body } from '../kit.ts'

const { people, owner, editor, viewer, countEvents } = await openTeam()
const projectId = await openProject(people)

const add = (fields: object = {}) => make(editor, '/tasks', { title: 'Wheels', projectId, ...fields })
const optional = { description: null, dueDate: null, assigneeId: null }
const empty = {
  ...{ labelIds: [], blockedByIds: [], fields: {} },
  ...{ externalId: null, remindAt: null, claim: null, attempts: 0, importedAuthor: null },
}
const defaults = { ...optional, ...empty, status: 'TODO', priority: 'MEDIUM', attempts: 0 }
const instants = { createdAt: aTimestamp, updatedAt: aTimestamp }

test('a new task gets defaults for absent fields, and every field can be set', async () => {
  const answer = await editor.post('/tasks', { title: ' Wheels ', projectId })
  const { number, createdAt, updatedAt, id } = answer.body
  expectResponse(answer, 201, {
    ...{ id: anId, projectId, number, title: 'Wheels', position: `j${`${number}`.padStart(10, '0')}` },
    ...{ ...defaults, ...instants },
  })
  expect(updatedAt).toBe(createdAt)
  expectResponse(await viewer.get(`/tasks/${id}`), 200, answer.body)
  const dueDate = '2027-01-31T17:00:00.000Z'
  const fields = { title: 'All', description: 'D', status: 'DONE', priority: 'HIGH', dueDate }
  const whole = await make(owner, '/tasks', { ...fields, projectId, assigneeId: viewer.id })
  expect(whole).toMatchObject({ ...fields, assigneeId: viewer.id, number: number + 1 })
})

const enums: [field: string, valid: unknown[], invalid: unknown[], message: RegExp][] = [
  ['status', words('DONE TODO IN_PROGRESS DONE IN_PROGRESS TODO'), [null], /^status must be one of/],
  ['priority', words('LOW MEDIUM HIGH'), [null], /^priority must be one of/],
  [
    'assigneeId',
    [owner.id, people.admin.id, editor.id, viewer.id, null],
    [people.stranger.id, unknownId, ...malformedIds, 'x'.repeat(101)],
    /^assigneeId must be/,
  ],
]
test.each(enums)('%s accepts only its documented values', async (field, valid, invalid, message) => {
  const { id } = await add()
  for (const one of valid)
    expect((await editor.patch(`/tasks/${id}`, { [field]: one })).body).toMatchObject({ [field]: one })
  for (const one of [...invalid, 'done', 'OPEN', '', ' DONE', 1, true, ['DONE'], {}]) {
    expectError(await editor.patch(`/tasks/${id}`, { [field]: one }), 400, message)
    expectError(await editor.post('/tasks', { title: 'T', projectId, [field]: one }), 400, message)
  }
})

test('an update keeps absent fields, clears null fields, and writes no event when nothing changes', async () => {
  const before = await add({ description: 'D', dueDate: '2027-01-01', assigneeId: owner.id })
  const path = `/tasks/${before.id}`
  const events = await countEvents(projectId)
  const { description, assigneeId, status } = before
  const written = { description, assigneeId, status, dueDate: '2027-01-01T01:00:00+01:00', projectId }
  for (const same of [{}, { title: ' Wheels ' }, written, { number: 9, id: unknownId }])
    expectResponse(await editor.patch(path, same), 200, before)
  expect(await countEvents(projectId)).toBe(events)
  // The two times must differ.
  await Bun.sleep(2)
  const { body } = await editor.patch(path, { title: 'New' })
  expectResponse(await viewer.get(path), 200, { ...before, title: 'New', updatedAt: body.updatedAt })
  expect(body.updatedAt > before.updatedAt).toBeTrue()
  for (const field of Object.keys(optional)) await editor.patch(path, { [field]: null })
  expect((await viewer.get(path)).body).toMatchObject({ ...optional, title: 'New' })
})

test('a task needs the id of a project that its creator may write', async () => {
  const create = (inProject: unknown) => editor.post('/tasks', { title: 'T', projectId: inProject })
  expectError(await create(undefined), 400, /^projectId is required/)
  for (const wrong of [null, 7, {}, 'x'.repeat(101)])
    expectError(await create(wrong), 400, /^projectId must be/)
  for (const wrong of ['', unknownId, ...malformedIds])
    expectError(await create(wrong), 404, 'Project not found')
})

test('DELETE returns a message, later requests get 404, and a new task does not get the number again', async () => {
  const { id, number } = await add()
  expectResponse(await editor.delete(`/tasks/${id}`), 200, { message: 'Task deleted successfully' })
  expectError(await editor.get(`/tasks/${id}`), 404, 'Task not found')
  expectError(await editor.delete(`/tasks/${id}`), 404, 'Task not found')
  expect((await add()).number).toBe(number + 1)
})

test('a due date is stored in UTC with milliseconds, and an invalid date is rejected, in filters too', async () => {
  const list = (name: string, value: string) =>
    editor.get(`/tasks?projectId=${projectId}&${name}=${encodeURIComponent(value)}`)
  const filters = ['dueBefore', 'dueAfter']
  for (const [dueDate, stored] of [
    ['2027-01-31T17:00Z', '2027-01-31T17:00:00.000Z'],
    ['2027-01-31T17:00:00.123456789Z', '2027-01-31T17:00:00.123Z'],
    ['2027-01-01T00:30:00+01:00', '2026-12-31T23:30:00.000Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ] as const) {
    const task = await add({ dueDate })
    expect([task.dueDate, (await viewer.get(`/tasks/${task.id}`)).body.dueDate]).toEqual([stored, stored])
    await editor.patch(`/tasks/${task.id}`, { dueDate: '2000-01-01' })
    expect((await editor.patch(`/tasks/${task.id}`, { dueDate })).body.dueDate).toBe(stored)
    for (const name of filters) expect((await list(name, dueDate)).status).toBe(200)
  }
  const texts = words(
    '2027-02-29 2027-01-31T17:00:00 0000-01-01 9999-12-31T23:59:59-01:00 tomorrow infinity 0',
  )
  texts.push('', ' 2027-01-31', '2027-01-31\n', '2027-01-31\0')
  for (const form of texts)
    for (const name of filters) expectError(await list(name, form), 400, new RegExp(`^${name} must be`))
  const { id } = await add()
  for (const dueDate of [...texts, 1767225600000, 0, true, {}, ['2027-01-31']]) {
    const answer = await editor.post('/tasks', { title: 'T', projectId, dueDate })
    expectError(answer, 400, /^dueDate must be an ISO 8601 date-time with offset/)
    expectError(await editor.patch(`/tasks/${id}`, { dueDate }), 400, /^dueDate must be/)
  }
  expect((await viewer.get(`/tasks/${id}`)).body.dueDate).toBeNull()
})

test('a member who may only read the former project of a moved task changes the task in its new project', async () => {
  const other = await openProject({ ...people, editor: viewer, viewer: editor })
  const { id } = await add()
  expect((await viewer.patch(`/tasks/${id}`, { title: 'Other' })).status).toBe(403)
  expect((await owner.patch(`/tasks/${id}`, { projectId: other })).status).toBe(200)
  expect((await viewer.patch(`/tasks/${id}`, { title: 'Other' })).status).toBe(200)
  expect((await editor.patch(`/tasks/${id}`, { title: 'Third' })).status).toBe(403)
})

const to = await openProject(people, 'To')
const { id: taskId } = await make(owner, '/tasks', { title: 'Wheels', projectId })

const addSubtask = (id = taskId) => make(editor, `/tasks/${id}/subtasks`, { title: 'Oil' })
const comment = (id = taskId) => make(editor, `/tasks/${id}/comments`, { text: 'Slow' })

const kinds: [kind: string, list: string, body: object, create: (id?: string) => Promise<Body>][] = [
  ['Subtask', 'subtasks', { title: 'Oil' }, addSubtask],
  ['Comment', 'comments', { text: 'Slow' }, comment],
]

test.each(kinds)('%s: the list of a task is sorted oldest first', async (_, list, body) => {
  const { id } = await make(owner, '/tasks', { title: 'T', projectId })
  const path = `/tasks/${id}/${list}`
  expectResponse(await viewer.get(path), 200, [])
  const created: Body[] = []
  for (const author of [editor, owner, people.admin]) created.push(await make(author, path, body))
  expectResponse(await viewer.get(path), 200, created)
})

test.each(kinds)('%s: DELETE returns a message; later requests get 404', async (kind, list, body, one) => {
  const { id } = await one()
  const path = `/tasks/${list}/${id}`
  expectResponse(await editor.delete(path), 200, { message: `${kind} deleted successfully` })
  for (const caller of [editor, viewer])
    for (const verb of kind === 'Comment' ? [''] : ['', '/toggle'])
      expectError(await caller.patch(path + verb, body), 404, `${kind} not found`)
  expectError(await editor.delete(path), 404, `${kind} not found`)
  expect((await viewer.get(`/tasks/${taskId}/${list}`)).body.map((row) => row.id)).not.toContain(id)
})

test.each(kinds)('%s: an id of another entity gets 404', async (kind, list, body) => {
  const other = kind === 'Comment' ? await addSubtask() : await comment()
  for (const id of [taskId, projectId, other.id])
    for (const verb of kind === 'Comment' ? [''] : ['', '/toggle'])
      expectError(await editor.patch(`/tasks/${list}/${id}${verb}`, body), 404, `${kind} not found`)
})

test('a new subtask is not completed; a toggle inverts the flag and ignores its body', async () => {
  const answer = await editor.post(`/tasks/${taskId}/subtasks`, { title: ' Oil ', completed: true })
  expectResponse(answer, 201, { id: anId, title: 'Oil', completed: false, taskId, createdAt: aTimestamp })
  const path = `/tasks/subtasks/${answer.body.id}/toggle`
  const bodies = [undefined, undefined, undefined, { completed: true }, '{"comp']
  for (const [n, body] of bodies.entries())
    expectResponse(await editor.patch(path, body), 200, { ...answer.body, completed: n % 2 === 0 })
})

test('completed must be true or false, and setting the same value again writes no event', async () => {
  const subtask = await addSubtask()
  const set = (body: object) => editor.patch(`/tasks/subtasks/${subtask.id}`, body)
  const events = await countEvents(projectId)
  for (const _again of [1, 2])
    expectResponse(await set({ completed: true }), 200, { ...subtask, completed: true })
  expect(await countEvents(projectId)).toBe(events + 1)
  const { body } = await set({ title: 'Grease' })
  expect(body).toEqual({ ...subtask, title: 'Grease', completed: true })
  expectResponse(await set({}), 200, body)
  for (const completed of ['true', 'false', 1, 0, null, '', [], {}])
    expectError(await set({ completed }), 400, /^completed must be true or false/)
})

test('a comment has its caller as author, and only the author may edit it', async () => {
  const fields = { text: ' Slow ', authorId: owner.id }
  const answer = await editor.post(`/tasks/${taskId}/comments`, fields)
  const instants = { createdAt: aTimestamp, updatedAt: aTimestamp }
  const { id: authorId } = editor
  const author = { authorId, author: { id: authorId, name: 'Someone' }, authorRemoved: false }
  const fixed = { text: 'Slow', ...author, importedAuthor: null }
  expectResponse(answer, 201, { id: anId, taskId, ...fixed, ...instants })
  const path = `/tasks/comments/${answer.body.id}`
  // The two times must differ.
  await Bun.sleep(2)
  const { body } = await editor.patch(path, { text: 'Fast' })
  expect(body).toStrictEqual({ ...answer.body, text: 'Fast', updatedAt: aTimestamp } as never)
  expect(body.updatedAt > answer.body.updatedAt).toBeTrue()
  const events = await countEvents(projectId)
  expectResponse(await editor.patch(path, { text: ' Fast ' }), 200, body)
  expect(await countEvents(projectId)).toBe(events)
  expectError(await owner.patch(path, { text: 'Mine' }), 403, 'Only the author may edit a comment')
  expectError(await viewer.delete(path), 403, 'Only the author or an admin may delete a comment')
})

test('an author who left may neither edit nor delete a comment, and may edit it after a new invitation', async () => {
  const id = await openProject(people, 'Left')
  const task = await make(owner, '/tasks', { title: 'T', projectId: id })
  const path = `/tasks/comments/${(await comment(task.id)).id}`
  const { body: members } = await owner.get(`/projects/${id}/members`)
  const { id: memberId } = members.find(({ userId }) => userId === editor.id)!
  await owner.delete(`/projects/${id}/members/${memberId}`)
  expectError(await editor.patch(path, { text: 'Mine' }), 404, 'Comment not found')
  expectError(await editor.delete(path), 404, 'Comment not found')
  await invite(owner, id, editor, 'VIEWER')
  expect((await editor.patch(path, { text: 'Mine' })).body.text).toBe('Mine')
})

const createTask = (fields: object = {}): Promise<Body> =>
  make(owner, '/tasks', { title: 'Wheels', projectId, ...fields })
const move = (id: string, toProject: unknown, fields: object = {}) =>
  editor.patch(`/tasks/${id}`, { projectId: toProject, ...fields })

test('a moved task gets the next number and the last place of its new project, and keeps its other fields', async () => {
  const { number } = await make(owner, '/tasks', { title: 'Before', projectId: to })
  const task = await createTask({ description: 'D', dueDate: '2027-01-01', assigneeId: viewer.id })
  const before = [await countEvents(projectId), await countEvents(to)] as const
  expect((await move(task.id, projectId)).body).toEqual(task)
  const answer = await move(task.id, to)
  const position = `j${`${number + 1}`.padStart(10, '0')}`
  expectResponse(answer, 200, { ...task, projectId: to, number: number + 1, position, updatedAt: aTimestamp })
  const after = [await countEvents(projectId), await countEvents(to)] as const
  expect(after).toEqual([before[0] + 1, before[1] + 1])
  expectResponse(await viewer.get(`/tasks/${task.id}`), 200, answer.body)
  expect((await make(owner, '/tasks', { title: 'After', projectId: to })).number).toBe(number + 2)
  const ids = async (id: string) => (await viewer.get(`/tasks?projectId=${id}`)).body.map((t) => t.id)
  expect(await ids(projectId)).not.toContain(task.id)
  expect(await ids(to)).toContain(task.id)
})

test('a moved task keeps an assignee, or gets one, only if the user is a member of the new project', async () => {
  const { id } = await make(editor, '/projects', { name: 'Other' })
  for (const assigneeId of [viewer.id, editor.id]) {
    const task = await createTask({ assigneeId })
    const kept = assigneeId === editor.id ? assigneeId : null
    expect((await move(task.id, id)).body.assigneeId).toBe(kept)
  }
  const changes = { title: 'New', description: null, assigneeId: editor.id }
  expect((await move((await createTask({ description: 'D' })).id, id, changes)).body).toMatchObject(changes)
})

test('subtasks and comments move with their task in both directions, and can be changed in either project', async () => {
  const task = await createTask()
  const [subtask, remark] = [await addSubtask(task.id), await comment(task.id)]
  await move(task.id, to)
  expectResponse(await viewer.get(`/tasks/${task.id}/subtasks`), 200, [subtask])
  expectResponse(await viewer.get(`/tasks/${task.id}/comments`), 200, [remark])
  const events = await countEvents(to)
  const toggled = { ...subtask, completed: true }
  expectResponse(await editor.patch(`/tasks/subtasks/${subtask.id}/toggle`), 200, toggled)
  expect((await editor.patch(`/tasks/comments/${remark.id}`, { text: 'Fast' })).body.text).toBe('Fast')
  expect(await countEvents(to)).toBe(events + 2)
  const { body } = await move(task.id, projectId)
  expect(body).toMatchObject({ id: task.id, projectId, createdAt: task.createdAt })
  expect(body.number).toBeGreaterThan(task.number)
  expectResponse(await viewer.get(`/tasks/${task.id}/subtasks`), 200, [toggled])
  expect((await editor.patch(`/tasks/subtasks/${subtask.id}/toggle`)).body.completed).toBeFalse()
})

test('rejects an impossible move and explains why, and the task does not change', async () => {
  const task = await createTask()
  const [asViewer, own, deleted] = await Promise.all(
    [owner, owner, editor].map(async (person) => (await make(person, '/projects', { name: 'P' })).id),
  )
  const theirs = await make(viewer, '/projects', { name: 'C' })
  await invite(owner, asViewer!, editor, 'VIEWER')
  await editor.delete(`/projects/${deleted}`)
  expectError(await move(task.id, asViewer), 403, 'This needs the role EDITOR in the project')
  for (const id of [own, deleted, unknownId, '', ...malformedIds])
    expectError(await move(task.id, id, { title: 'Lost' }), 404, 'Project not found')
  expectError(await viewer.patch(`/tasks/${task.id}`, { projectId: theirs.id }), 403)
  const byStranger = await people.stranger.patch(`/tasks/${task.id}`, { projectId: theirs.id })
  expectError(byStranger, 404, 'Task not found')
  expectError(await move(task.id, null), 400, /^projectId must be/)
  const assigned = await owner.patch(`/tasks/${task.id}`, { projectId: own, assigneeId: viewer.id })
  expectError(assigned, 400, /^assigneeId must be/)
  expectResponse(await owner.get(`/tasks/${task.id}`), 200, task)
})
