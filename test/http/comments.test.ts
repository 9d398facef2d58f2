import { expect, test } from 'bun:test'
import { type Body, invite, make, type Person, register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'
import {
  anId,
  anInstant,
  eventsOf,
  expectAnswer,
  expectRefusal,
  rightLines,
  rightTexts,
  wrongTexts,
} from './answers.ts'
import { openPeople, openProject } from './scene.ts'

const service = await forFile(openTestService())
const people = await openPeople(service.client)
const projectId = await openProject(people)
const taskId = (await make(people.owner, '/tasks', { title: 'Wheels', projectId })).id

const say = (who: Person = people.editor): Promise<Body> =>
  make(who, `/tasks/${taskId}/comments`, { text: 'Slow' })
const deleted = { message: 'Comment deleted successfully' }

test('adding answers the comment with its caller as author', async () => {
  const answer = await people.editor.post(`/tasks/${taskId}/comments`, {
    text: ' Slow ',
    authorId: people.owner.id,
  })
  const instants = { createdAt: anInstant, updatedAt: anInstant }
  const { id: authorId } = people.editor
  const author = { authorId, author: { id: authorId, name: 'Someone' }, authorRemoved: false }
  expectAnswer(answer, 201, { id: anId, text: 'Slow', ...author, taskId, ...instants })
})

test('the list holds them oldest first', async () => {
  const { id } = await make(people.owner, '/tasks', { title: 'T', projectId })
  expectAnswer(await people.viewer.get(`/tasks/${id}/comments`), 200, [])
  const said: Body[] = []
  for (const who of [people.editor, people.owner, people.admin]) {
    said.push(await make(who, `/tasks/${id}/comments`, { text: 'Hm' }))
  }
  expectAnswer(await people.viewer.get(`/tasks/${id}/comments`), 200, said)
})

test('a text is 1 to 20,000 characters once trimmed', async () => {
  const { id } = await say()
  for (const [text, stored] of [...rightTexts(20_000), ...rightLines]) {
    expect((await make(people.editor, `/tasks/${taskId}/comments`, { text })).text).toBe(stored)
    expect((await people.editor.patch(`/tasks/comments/${id}`, { text })).body.text).toBe(stored)
  }
  for (const text of [...wrongTexts(20_000), undefined]) {
    expectRefusal(await people.editor.post(`/tasks/${taskId}/comments`, { text }), 400, /^text /)
    expectRefusal(await people.editor.patch(`/tasks/comments/${id}`, { text }), 400, /^text /)
  }
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
  const other = await register(service.client)
  await invite(people.owner, projectId, other, 'EDITOR')
  for (const who of [people.editor, people.admin, people.owner]) {
    const { id } = await say()
    expectRefusal(await other.delete(`/tasks/comments/${id}`), 403, /author or an admin/)
    expectRefusal(await people.viewer.delete(`/tasks/comments/${id}`), 403)
    expectAnswer(await who.delete(`/tasks/comments/${id}`), 200, deleted)
    expectRefusal(await who.delete(`/tasks/comments/${id}`), 404, 'Comment not found')
  }
})

test('an author whose role was lowered still owns the words; one who left does not', async () => {
  const author = await register(service.client)
  const member = await invite(people.owner, projectId, author, 'EDITOR')
  const [first, second] = [await say(author), await say(author)]
  await people.owner.patch(`/projects/${projectId}/members/${member.id}/role`, { role: 'VIEWER' })
  expect((await author.patch(`/tasks/comments/${first.id}`, { text: 'Sorry' })).status).toBe(200)
  expectAnswer(await author.delete(`/tasks/comments/${first.id}`), 200, deleted)
  await people.owner.delete(`/projects/${projectId}/members/${member.id}`)
  expectRefusal(await author.delete(`/tasks/comments/${second.id}`), 404, 'Comment not found')
})

test('the id of another kind of thing is not found', async () => {
  const subtask = await make(people.editor, `/tasks/${taskId}/subtasks`, { title: 'S' })
  for (const id of [taskId, projectId, subtask.id]) {
    expectRefusal(await people.editor.delete(`/tasks/comments/${id}`), 404, 'Comment not found')
    expectRefusal(await people.editor.patch(`/tasks/comments/${id}`, { text: 'x' }), 404, 'Comment not found')
  }
})
