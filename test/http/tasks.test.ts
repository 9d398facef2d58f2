import { expect, test } from 'bun:test'
import { make } from '../support/client.ts'
import { absentId, anId, anInstant, eventsOf, expectAnswer, expectRefusal, malformedIds } from './answers.ts'
import { openProject, openTeam } from './scene.ts'
import { words } from '../support/words.ts'

const { service, people } = await openTeam()
const projectId = await openProject(people)

const add = (fields: object = {}) => make(people.editor, '/tasks', { title: 'Wheels', projectId, ...fields })
const optional = { description: null, dueDate: null, assigneeId: null }
const defaults = { ...optional, status: 'TODO', priority: 'MEDIUM' }
const instants = { createdAt: anInstant, updatedAt: anInstant }

test('creating answers the task with its defaults', async () => {
  const answer = await people.editor.post('/tasks', { title: ' Wheels ', projectId })
  const { number } = answer.body
  expectAnswer(answer, 201, { id: anId, projectId, number, title: 'Wheels', ...defaults, ...instants })
  expect(answer.body.updatedAt).toBe(answer.body.createdAt)
  expectAnswer(await people.viewer.get(`/tasks/${answer.body.id}`), 200, answer.body)
})

test('creating takes every field', async () => {
  const dueDate = '2027-01-31T17:00:00.000Z'
  const wanted = { title: 'All', description: 'D', status: 'DONE', priority: 'HIGH', dueDate }
  const answer = await people.owner.post('/tasks', { ...wanted, projectId, assigneeId: people.viewer.id })
  expect(answer.body).toMatchObject({ ...wanted, assigneeId: people.viewer.id })
})

test('tasks are numbered 1, 2, 3 in their project', async () => {
  const own = await make(people.owner, '/projects', { name: 'Numbers' })
  const next = async () => (await make(people.owner, '/tasks', { title: 'T', projectId: own.id })).number
  expect([await next(), await next(), await next()]).toEqual([1, 2, 3])
  const { body } = await people.owner.get(`/tasks?projectId=${own.id}`)
  await people.owner.delete(`/tasks/${body[2]!.id}`)
  expect(await next()).toBe(4)
})

test('status and priority are closed lists', async () => {
  const { id } = await add()
  for (const status of ['DONE', 'TODO', 'IN_PROGRESS', 'DONE', 'IN_PROGRESS', 'TODO']) {
    expect((await people.editor.patch(`/tasks/${id}`, { status })).body.status).toBe(status)
  }
  for (const priority of ['LOW', 'MEDIUM', 'HIGH']) {
    expect((await people.editor.patch(`/tasks/${id}`, { priority })).body.priority).toBe(priority)
  }
  for (const wrong of ['done', 'OPEN', '', ' DONE', null, 1, true, ['DONE'], {}]) {
    for (const field of ['status', 'priority']) {
      const named = new RegExp(`^${field} must be one of`)
      expectRefusal(await people.editor.patch(`/tasks/${id}`, { [field]: wrong }), 400, named)
      const create = await people.editor.post('/tasks', { title: 'T', projectId, [field]: wrong })
      expectRefusal(create, 400, named)
    }
  }
})

test('the assignee is the owner or a member', async () => {
  const { id } = await add()
  for (const { id: assigneeId } of [people.owner, people.admin, people.editor, people.viewer]) {
    expect((await people.editor.patch(`/tasks/${id}`, { assigneeId })).body.assigneeId).toBe(assigneeId)
  }
  expect((await people.editor.patch(`/tasks/${id}`, { assigneeId: null })).body.assigneeId).toBeNull()
  for (const assigneeId of [
    people.stranger.id,
    absentId,
    '',
    ...malformedIds,
    7,
    {},
    ['x'],
    'x'.repeat(101),
  ]) {
    const named = /^assigneeId must be/
    expectRefusal(await people.editor.patch(`/tasks/${id}`, { assigneeId }), 400, named)
    expectRefusal(await people.editor.post('/tasks', { title: 'T', projectId, assigneeId }), 400, named)
  }
})

test('a change keeps what is absent and clears what is null', async () => {
  const set = { description: 'D', dueDate: '2027-01-01T00:00:00.000Z', assigneeId: people.viewer.id }
  const before = await add(set)
  const path = `/tasks/${before.id}`
  await Bun.sleep(2) // so that the two times differ
  const { body } = await people.editor.patch(path, { title: 'New' })
  expectAnswer(await people.viewer.get(path), 200, { ...before, title: 'New', updatedAt: body.updatedAt })
  expect(body.updatedAt > before.updatedAt).toBeTrue()
  for (const field of Object.keys(optional)) await people.editor.patch(path, { [field]: null })
  expect((await people.viewer.get(path)).body).toMatchObject({ ...optional, title: 'New' })
})

test('a change that changes nothing leaves no trace', async () => {
  const before = await add({ description: 'D', dueDate: '2027-01-01', assigneeId: people.owner.id })
  const events = await eventsOf(service, projectId)
  const { description, assigneeId, status, title } = before
  const dueDate = '2027-01-01T01:00:00+01:00'
  for (const same of [{}, { title: ` ${title} ` }, { description, assigneeId, status, dueDate, projectId }]) {
    expectAnswer(await people.editor.patch(`/tasks/${before.id}`, same), 200, before)
  }
  expectAnswer(await people.editor.patch(`/tasks/${before.id}`, { number: 9, id: absentId }), 200, before)
  expect(await eventsOf(service, projectId)).toBe(events)
})

test('a task needs a project that its maker can write in', async () => {
  expectRefusal(await people.editor.post('/tasks', { title: 'T' }), 400, /^projectId is required/)
  for (const wrong of [null, 7, {}, 'x'.repeat(101)]) {
    expectRefusal(
      await people.editor.post('/tasks', { title: 'T', projectId: wrong }),
      400,
      /^projectId must be/,
    )
  }
  for (const wrong of ['', absentId, ...malformedIds]) {
    const answer = await people.editor.post('/tasks', { title: 'T', projectId: wrong })
    expectRefusal(answer, 404, 'Project not found')
  }
})

test('deleting says so, and the task is gone', async () => {
  const { id } = await add()
  expectAnswer(await people.editor.delete(`/tasks/${id}`), 200, { message: 'Task deleted successfully' })
  expectRefusal(await people.editor.get(`/tasks/${id}`), 404, 'Task not found')
  expectRefusal(await people.editor.delete(`/tasks/${id}`), 404, 'Task not found')
})

const ada = people.editor

// More of them, read by the same function, are in test/core/instants.test.ts.
const forms: Record<string, string> = {
  '2027-01-31T17:00Z': '2027-01-31T17:00:00.000Z',
  '2027-01-31T17:00:00.123456789Z': '2027-01-31T17:00:00.123Z',
  '2027-01-01T00:30:00+01:00': '2026-12-31T23:30:00.000Z',
  '2028-02-29': '2028-02-29T00:00:00.000Z',
  '0001-01-01': '0001-01-01T00:00:00.000Z',
  '9999-12-31T23:59:59.999Z': '9999-12-31T23:59:59.999Z',
}

test.each(Object.entries(forms))('due %s is answered as %s', async (dueDate, stored) => {
  const task = await make(ada, '/tasks', { title: 'T', projectId, dueDate })
  expect(task.dueDate).toBe(stored)
  expect((await ada.get(`/tasks/${task.id}`)).body.dueDate).toBe(stored)
  const { body } = await ada.patch(`/tasks/${task.id}`, { dueDate: '2000-01-01' })
  expect(body.dueDate).toBe('2000-01-01T00:00:00.000Z')
  expect((await ada.patch(`/tasks/${task.id}`, { dueDate })).body.dueDate).toBe(stored)
})

const noDates = words(
  '2027-02-29 2027-01-31T17:00:00 0000-01-01 9999-12-31T23:59:59-01:00 tomorrow infinity 0',
)
noDates.push('', ' 2027-01-31', '2027-01-31\n', '2027-01-31\0')
const wrong: unknown[] = [...noDates, 1767225600000, 0, true, {}, ['2027-01-31']]

test('what is no date, or no date-time with an offset, is refused', async () => {
  const { id } = await make(ada, '/tasks', { title: 'T', projectId })
  for (const dueDate of wrong) {
    const answer = await ada.post('/tasks', { title: 'T', projectId, dueDate })
    expect([dueDate, answer.status]).toEqual([dueDate, 400])
    expectRefusal(answer, 400, /^dueDate must be an ISO 8601 date-time with offset/)
    expectRefusal(await ada.patch(`/tasks/${id}`, { dueDate }), 400, /^dueDate must be/)
  }
  expect((await ada.get(`/tasks/${id}`)).body.dueDate).toBeNull()
})

test('filters take the same forms and refuse the same', async () => {
  const list = (name: string, value: string) =>
    ada.get(`/tasks?projectId=${projectId}&${name}=${encodeURIComponent(value)}`)
  for (const name of ['dueBefore', 'dueAfter']) {
    for (const form of Object.keys(forms)) expect((await list(name, form)).status).toBe(200)
    for (const form of noDates) expectRefusal(await list(name, form), 400, new RegExp(`^${name} must be`))
  }
})
