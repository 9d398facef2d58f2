import { anId, aTimestamp, expectError, expectResponse, make, malformedIds, openProject } from '../kit.ts'
import { openTeam, unknownId, words } from '../kit.ts'

const { people, owner, editor, viewer, countEvents } = await openTeam()
const projectId = await openProject(people)

const add = (fields: object = {}) => make(editor, '/tasks', { title: 'Wheels', projectId, ...fields })
const optional = { description: null, dueDate: null, assigneeId: null }
const empty = {
  ...{ labelIds: [], blockedByIds: [], fields: {} },
  ...{ externalId: null, remindAt: null, claim: null, attempts: 0, importedAuthor: null },
}
const defaults = { ...optional, ...empty, status: 'TODO', priority: 'MEDIUM' }
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
