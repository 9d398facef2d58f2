import { expect, test } from 'bun:test'
import { type Body, invite, make, type Person, register } from '../support/client.ts'
import { anId, anInstant, eventsOf, expectAnswer, expectRefusal } from './answers.ts'
import { openProject, openTeam } from './scene.ts'

const { service, client, people } = await openTeam()
const projectId = await openProject(people)
const { id: taskId } = await make(people.owner, '/tasks', { title: 'Wheels', projectId })

const add = () => make(people.editor, `/tasks/${taskId}/subtasks`, { title: 'Oil' })
const say = (who: Person = people.editor) => make(who, `/tasks/${taskId}/comments`, { text: 'Slow' })

const kinds: [kind: string, list: string, body: object, make: () => Promise<Body>][] = [
  ['Subtask', 'subtasks', { title: 'Oil' }, add],
  ['Comment', 'comments', { text: 'Slow' }, say],
]

test.each(kinds)('%s: the list of a task holds them oldest first', async (_, list, body) => {
  const { id } = await make(people.owner, '/tasks', { title: 'T', projectId })
  const path = `/tasks/${id}/${list}`
  expectAnswer(await people.viewer.get(path), 200, [])
  const made: Body[] = []
  for (const who of [people.editor, people.owner, people.admin]) made.push(await make(who, path, body))
  expectAnswer(await people.viewer.get(path), 200, made)
})

test.each(kinds)('%s: deleting says so, and it is gone', async (kind, list, body, one) => {
  const { id } = await one()
  const path = `/tasks/${list}/${id}`
  expectAnswer(await people.editor.delete(path), 200, { message: `${kind} deleted successfully` })
  expectRefusal(await people.editor.patch(path, body), 404, `${kind} not found`)
  expectRefusal(await people.editor.delete(path), 404, `${kind} not found`)
  expect((await people.viewer.get(`/tasks/${taskId}/${list}`)).body.map((left) => left.id)).not.toContain(id)
})

test.each(kinds)('%s: the id of another kind of thing is not found', async (kind, list, body) => {
  const other = kind === 'Comment' ? await add() : await say()
  for (const id of [taskId, projectId, other.id])
    for (const path of [
      `/tasks/${list}/${id}`,
      ...(kind === 'Comment' ? [] : [`/tasks/${list}/${id}/toggle`]),
    ])
      expectRefusal(await people.editor.patch(path, body), 404, `${kind} not found`)
})

test('adding a subtask answers one that is not completed', async () => {
  const answer = await people.editor.post(`/tasks/${taskId}/subtasks`, { title: ' Oil ', completed: true })
  expectAnswer(answer, 201, { id: anId, title: 'Oil', completed: false, taskId, createdAt: anInstant })
})

test('a toggle inverts the flag each time and needs no body', async () => {
  const subtask = await add()
  for (const completed of [true, false, true]) {
    const answer = await people.editor.patch(`/tasks/subtasks/${subtask.id}/toggle`)
    expectAnswer(answer, 200, { ...subtask, completed })
  }
  const withBody = await people.editor.patch(`/tasks/subtasks/${subtask.id}/toggle`, { completed: true })
  expectAnswer(withBody, 200, { ...subtask, completed: false })
  const garbage = await people.editor.patch(`/tasks/subtasks/${subtask.id}/toggle`, '{"completed":')
  expectAnswer(garbage, 200, { ...subtask, completed: true })
})

test('setting a subtask is safe to repeat: the second time nothing happens', async () => {
  const subtask = await add()
  const events = await eventsOf(service, projectId)
  for (const _again of [1, 2]) {
    const answer = await people.editor.patch(`/tasks/subtasks/${subtask.id}`, { completed: true })
    expectAnswer(answer, 200, { ...subtask, completed: true })
    expect(await eventsOf(service, projectId)).toBe(events + 1)
  }
  const answer = await people.editor.patch(`/tasks/subtasks/${subtask.id}`, { title: 'Grease' })
  expectAnswer(answer, 200, { ...subtask, title: 'Grease', completed: true })
  expectAnswer(await people.editor.patch(`/tasks/subtasks/${subtask.id}`, {}), 200, answer.body)
})

test('completed is true or false and nothing like it', async () => {
  const { id } = await add()
  for (const completed of ['true', 'false', 1, 0, null, '', [], {}]) {
    const answer = await people.editor.patch(`/tasks/subtasks/${id}`, { completed })
    expectRefusal(answer, 400, /^completed must be true or false/)
  }
})

test('adding a comment answers it with its caller as author', async () => {
  const answer = await people.editor.post(`/tasks/${taskId}/comments`, {
    text: ' Slow ',
    authorId: people.owner.id,
  })
  const instants = { createdAt: anInstant, updatedAt: anInstant }
  const { id: authorId } = people.editor
  const author = { authorId, author: { id: authorId, name: 'Someone' }, authorRemoved: false }
  expectAnswer(answer, 201, { id: anId, text: 'Slow', ...author, taskId, ...instants })
})

test('only its author edits a comment; the same text leaves no trace', async () => {
  const comment = await say()
  const path = `/tasks/comments/${comment.id}`
  await Bun.sleep(2) // so that the two times differ
  const { body } = await people.editor.patch(path, { text: 'Fast' })
  expect(body).toStrictEqual({ ...comment, text: 'Fast', updatedAt: anInstant } as never)
  expect(body.updatedAt > comment.updatedAt).toBeTrue()
  const events = await eventsOf(service, projectId)
  expectAnswer(await people.editor.patch(path, { text: ' Fast ' }), 200, body)
  expect(await eventsOf(service, projectId)).toBe(events)
  for (const other of [people.owner, people.admin, people.viewer]) {
    expectRefusal(await other.patch(path, { text: 'Mine' }), 403, /author/)
  }
})

test('its author and admins delete a comment, another editor does not', async () => {
  const other = await register(client)
  await invite(people.owner, projectId, other, 'EDITOR')
  for (const who of [people.editor, people.admin, people.owner]) {
    const { id } = await say()
    expectRefusal(await other.delete(`/tasks/comments/${id}`), 403, /author or an admin/)
    expectRefusal(await people.viewer.delete(`/tasks/comments/${id}`), 403)
    expect((await who.delete(`/tasks/comments/${id}`)).status).toBe(200)
    expectRefusal(await who.delete(`/tasks/comments/${id}`), 404, 'Comment not found')
  }
})

test('an author whose role was lowered still owns the words; one who left does not', async () => {
  const author = await register(client)
  const member = await invite(people.owner, projectId, author, 'EDITOR')
  const [first, second] = [await say(author), await say(author)]
  await people.owner.patch(`/projects/${projectId}/members/${member.id}/role`, { role: 'VIEWER' })
  expect((await author.patch(`/tasks/comments/${first.id}`, { text: 'Sorry' })).status).toBe(200)
  expect((await author.delete(`/tasks/comments/${first.id}`)).status).toBe(200)
  await people.owner.delete(`/projects/${projectId}/members/${member.id}`)
  expectRefusal(await author.delete(`/tasks/comments/${second.id}`), 404, 'Comment not found')
})
