import { anId, aTimestamp, expectError, expectResponse, invite, make, malformedIds } from '../kit.ts'
import { openProject, openTeam, unknownId } from '../kit.ts'
import type { Body } from '../kit.ts'

const { people, owner, editor, viewer, countEvents } = await openTeam()
const projectId = await openProject(people)
const to = await openProject(people, 'To')
const { id: taskId } = await make(owner, '/tasks', { title: 'Wheels', projectId })

const add = (id = taskId) => make(editor, `/tasks/${id}/subtasks`, { title: 'Oil' })
const comment = (id = taskId) => make(editor, `/tasks/${id}/comments`, { text: 'Slow' })

const kinds: [kind: string, list: string, body: object, create: (id?: string) => Promise<Body>][] = [
  ['Subtask', 'subtasks', { title: 'Oil' }, add],
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
  const other = kind === 'Comment' ? await add() : await comment()
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
  const subtask = await add()
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

test('subtasks and comments move with their task in both directions, and can be changed in either project', async () => {
  const task = await createTask()
  const [subtask, remark] = [await add(task.id), await comment(task.id)]
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
