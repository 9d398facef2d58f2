import { expect, test } from 'bun:test'
import { type Body, invite, make } from '../support/client.ts'
import { absentId, anInstant, eventsOf, expectAnswer, expectRefusal, malformedIds } from './answers.ts'
import { openProject, openTeam } from './scene.ts'

const { service, people } = await openTeam()
const from = await openProject(people, 'From')
const to = await openProject(people, 'To')

const add = (fields: object = {}): Promise<Body> =>
  make(people.owner, '/tasks', { title: 'Wheels', projectId: from, ...fields })
const move = (id: string, projectId: unknown, fields: object = {}) =>
  people.editor.patch(`/tasks/${id}`, { projectId, ...fields })

test('a moved task takes the next number of its new project, and keeps the rest', async () => {
  const { number } = await make(people.owner, '/tasks', { title: 'Before', projectId: to })
  const task = await add({ description: 'D', dueDate: '2027-01-01', assigneeId: people.viewer.id })
  const answer = await move(task.id, to)
  const moved = { ...task, projectId: to, number: number + 1, updatedAt: anInstant }
  expectAnswer(answer, 200, moved)
  expectAnswer(await people.viewer.get(`/tasks/${task.id}`), 200, answer.body)
  expect((await make(people.owner, '/tasks', { title: 'After', projectId: to })).number).toBe(number + 2)
  const ids = async (id: string) => (await people.viewer.get(`/tasks?projectId=${id}`)).body.map((t) => t.id)
  expect(await ids(from)).not.toContain(task.id)
  expect(await ids(to)).toContain(task.id)
})

test('other changes come with the move', async () => {
  const task = await add()
  const wanted = { title: 'Moved', status: 'DONE', assigneeId: people.admin.id, dueDate: null }
  expect((await move(task.id, to, wanted)).body).toMatchObject({ ...wanted, projectId: to })
})

test('subtasks and comments come along, and can be changed there', async () => {
  const task = await add()
  const subtask = await make(people.editor, `/tasks/${task.id}/subtasks`, { title: 'Oil' })
  const comment = await make(people.editor, `/tasks/${task.id}/comments`, { text: 'Slow' })
  await move(task.id, to)
  expectAnswer(await people.viewer.get(`/tasks/${task.id}/subtasks`), 200, [subtask])
  expectAnswer(await people.viewer.get(`/tasks/${task.id}/comments`), 200, [comment])
  const events = await eventsOf(service, to)
  const toggled = await people.editor.patch(`/tasks/subtasks/${subtask.id}/toggle`)
  expectAnswer(toggled, 200, { ...subtask, completed: true })
  const edited = await people.editor.patch(`/tasks/comments/${comment.id}`, { text: 'Fast' })
  expect(edited.body.text).toBe('Fast')
  expect(await eventsOf(service, to)).toBe(events + 2)
})

test('a task that moves there and back is the same task', async () => {
  const task = await add()
  const subtask = await make(people.editor, `/tasks/${task.id}/subtasks`, { title: 'Oil' })
  await move(task.id, to)
  await people.editor.patch(`/tasks/subtasks/${subtask.id}`, { completed: true })
  const { body } = await move(task.id, from)
  expect(body).toMatchObject({ id: task.id, projectId: from, createdAt: task.createdAt })
  expect(body.number).toBeGreaterThan(task.number)
  expectAnswer(await people.viewer.get(`/tasks/${task.id}/subtasks`), 200, [{ ...subtask, completed: true }])
  expect((await people.editor.patch(`/tasks/subtasks/${subtask.id}/toggle`)).body.completed).toBeFalse()
})

test('an assignee who is not in the new project is cleared', async () => {
  const own = await make(people.owner, '/projects', { name: 'Own' })
  await invite(people.owner, own.id, people.editor, 'EDITOR')
  const task = await add({ assigneeId: people.viewer.id })
  expect((await move(task.id, own.id)).body.assigneeId).toBeNull()
  const kept = await add({ assigneeId: people.owner.id })
  expect((await move(kept.id, own.id)).body.assigneeId).toBe(people.owner.id)
})

test('an assignee named with the move must be in the new project', async () => {
  const own = await make(people.owner, '/projects', { name: 'Own' })
  const task = await add()
  const wanted = { projectId: own.id, assigneeId: people.viewer.id }
  expectRefusal(await people.owner.patch(`/tasks/${task.id}`, wanted), 400, /^assigneeId must be/)
  expectAnswer(await people.owner.get(`/tasks/${task.id}`), 200, task)
})

test('moving takes the role EDITOR in both projects', async () => {
  const task = await add()
  const [{ id: asViewer }, { id: unknown }] = await Promise.all([
    make(people.owner, '/projects', { name: 'A' }),
    make(people.owner, '/projects', { name: 'B' }),
  ])
  await invite(people.owner, asViewer, people.editor, 'VIEWER')
  expectRefusal(await move(task.id, asViewer), 403)
  expectRefusal(await move(task.id, unknown), 404, 'Project not found')
  const theirs = await make(people.viewer, '/projects', { name: 'C' })
  expectRefusal(await people.viewer.patch(`/tasks/${task.id}`, { projectId: theirs.id }), 403)
  const strange = await people.stranger.patch(`/tasks/${task.id}`, { projectId: theirs.id })
  expectRefusal(strange, 404, 'Task not found')
  expectAnswer(await people.owner.get(`/tasks/${task.id}`), 200, task)
})

test('a project that is absent, malformed or deleted is not found, and the task stays', async () => {
  const task = await add()
  const gone = await make(people.editor, '/projects', { name: 'Gone' })
  await people.editor.delete(`/projects/${gone.id}`)
  for (const id of [gone.id, absentId, '', ...malformedIds]) {
    expectRefusal(await move(task.id, id, { title: 'Lost' }), 404, 'Project not found')
  }
  expectRefusal(await move(task.id, null), 400, /^projectId must be/)
  expectAnswer(await people.owner.get(`/tasks/${task.id}`), 200, task)
})

test('a move is one fact in each project, and to the same project none', async () => {
  const task = await add()
  const before = [await eventsOf(service, from), await eventsOf(service, to)] as const
  await move(task.id, from)
  expect(await eventsOf(service, from)).toBe(before[0])
  await move(task.id, to)
  expect(await eventsOf(service, from)).toBe(before[0] + 1)
  expect(await eventsOf(service, to)).toBe(before[1] + 1)
})
