import { expectError, expectResponse, invite, make, malformedIds, openProject, openTeam } from '../kit.ts'
import { unknownId } from '../kit.ts'
import type { Body } from '../kit.ts'

const { people, owner, editor, viewer, stranger, countEvents } = await openTeam()
const [from, to] = [await openProject(people), await openProject(people, 'To')]

const add = (fields: object = {}): Promise<Body> =>
  make(owner, '/tasks', { title: 'Wheels', projectId: from, ...fields })
const move = (id: string, projectId: unknown, fields: object = {}) =>
  editor.patch(`/tasks/${id}`, { projectId, ...fields })
const comment = (id: string) => make(editor, `/tasks/${id}/comments`, { text: 'Slow' })

test('a toggle inverts `completed` and ignores its body; `completed` must be true or false', async () => {
  const task = await add()
  const subtask = await make(editor, `/tasks/${task.id}/subtasks`, { title: 'Oil', completed: true })
  const path = `/tasks/subtasks/${subtask.id}`
  const bodies = [undefined, undefined, undefined, { completed: true }, '{"comp']
  for (const [n, body] of bodies.entries())
    expectResponse(await editor.patch(`${path}/toggle`, body), 200, { ...subtask, completed: n % 2 === 0 })
  for (const completed of ['true', 'false', 1, 0, null, '', [], {}])
    expectError(await editor.patch(path, { completed }), 400, /^completed must be true or false/)
  const { id } = await comment(task.id)
  for (const wrong of [id, task.id, from])
    expectError(await editor.patch(`/tasks/subtasks/${wrong}/toggle`), 404, 'Subtask not found')
})

test('only the author may edit a comment, as long as the author is a member', async () => {
  const projectId = await openProject(people, 'Left')
  const { id: taskId } = await add({ projectId })
  const path = `/tasks/comments/${(await comment(taskId)).id}`
  expectError(await owner.patch(path, { text: 'Mine' }), 403, 'Only the author may edit a comment')
  expectError(await viewer.delete(path), 403, 'Only the author or an admin may delete a comment')
  const { body: members } = await owner.get(`/projects/${projectId}/members`)
  const { id: memberId } = members.find(({ userId }) => userId === editor.id)!
  await owner.delete(`/projects/${projectId}/members/${memberId}`)
  expectError(await editor.patch(path, { text: 'Mine' }), 404, 'Comment not found')
  expectError(await editor.delete(path), 404, 'Comment not found')
  await invite(owner, projectId, editor, 'VIEWER')
  expect((await editor.patch(path, { text: 'Mine' })).body.text).toBe('Mine')
})

test('a moved task gets the next number and the last place of its new project, and keeps its other fields', async () => {
  const { number } = await add({ projectId: to })
  const task = await add({ description: 'D', dueDate: '2027-01-01', assigneeId: viewer.id })
  const before = [await countEvents(from), await countEvents(to)] as const
  expect((await move(task.id, from)).body).toEqual(task)
  const answer = await move(task.id, to)
  const position = `j${`${number + 1}`.padStart(10, '0')}`
  const { updatedAt } = answer.body
  expectResponse(answer, 200, { ...task, projectId: to, number: number + 1, position, updatedAt })
  const after = [await countEvents(from), await countEvents(to)] as const
  expect(after).toEqual([before[0] + 1, before[1] + 1])
  expectResponse(await viewer.get(`/tasks/${task.id}`), 200, answer.body)
  expect((await add({ projectId: to })).number).toBe(number + 2)
  const ids = async (id: string) => (await viewer.get(`/tasks?projectId=${id}`)).body.map((t) => t.id)
  expect(await ids(from)).not.toContain(task.id)
  expect(await ids(to)).toContain(task.id)
})

test('a moved task keeps an assignee, or gets one, only if the user is a member of the new project', async () => {
  const { id } = await make(editor, '/projects', { name: 'Other' })
  for (const assigneeId of [viewer.id, editor.id]) {
    const task = await add({ assigneeId })
    expect((await move(task.id, id)).body.assigneeId).toBe(assigneeId === editor.id ? assigneeId : null)
  }
  const changes = { title: 'New', description: null, assigneeId: editor.id }
  expect((await move((await add({ description: 'D' })).id, id, changes)).body).toMatchObject(changes)
})

test('subtasks and comments move with their task in both directions, and can be changed in either project', async () => {
  const task = await add()
  const subtask = await make(editor, `/tasks/${task.id}/subtasks`, { title: 'Oil' })
  const remark = await comment(task.id)
  const toggle = () => editor.patch(`/tasks/subtasks/${subtask.id}/toggle`)
  await move(task.id, to)
  expectResponse(await viewer.get(`/tasks/${task.id}/subtasks`), 200, [subtask])
  expectResponse(await viewer.get(`/tasks/${task.id}/comments`), 200, [remark])
  const events = await countEvents(to)
  const toggled = { ...subtask, completed: true }
  expectResponse(await toggle(), 200, toggled)
  expect((await editor.patch(`/tasks/comments/${remark.id}`, { text: 'Fast' })).body.text).toBe('Fast')
  expect(await countEvents(to)).toBe(events + 2)
  const { body } = await move(task.id, from)
  expect(body).toMatchObject({ id: task.id, projectId: from, createdAt: task.createdAt })
  expect(body.number).toBeGreaterThan(task.number)
  expectResponse(await viewer.get(`/tasks/${task.id}/subtasks`), 200, [toggled])
  expect((await toggle()).body.completed).toBeFalse()
})

test('a member who may only read the former project of a moved task changes the task in its new project', async () => {
  const other = await openProject({ ...people, editor: viewer, viewer: editor })
  const { id } = await add()
  expect((await viewer.patch(`/tasks/${id}`, { title: 'Other' })).status).toBe(403)
  expect((await owner.patch(`/tasks/${id}`, { projectId: other })).status).toBe(200)
  expect((await viewer.patch(`/tasks/${id}`, { title: 'Other' })).status).toBe(200)
  expect((await editor.patch(`/tasks/${id}`, { title: 'Third' })).status).toBe(403)
})

test('rejects an impossible move and explains why, and the task does not change', async () => {
  const task = await add()
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
  expectError(await stranger.patch(`/tasks/${task.id}`, { projectId: theirs.id }), 404, 'Task not found')
  expectError(await move(task.id, null), 400, /^projectId must be/)
  const assigned = await owner.patch(`/tasks/${task.id}`, { projectId: own, assigneeId: viewer.id })
  expectError(assigned, 400, /^assigneeId must be/)
  expectResponse(await owner.get(`/tasks/${task.id}`), 200, task)
})
