import { expect, test } from 'bun:test'
import { type Body, make } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'
import { anId, anInstant, eventsOf, expectAnswer, expectRefusal, rightTexts, wrongNames } from './answers.ts'
import { openPeople, openProject } from './scene.ts'

const service = await forFile(openTestService())
const people = await openPeople(service.client)
const projectId = await openProject(people)
const taskId = (await make(people.owner, '/tasks', { title: 'Wheels', projectId })).id

const add = (): Promise<Body> => make(people.editor, `/tasks/${taskId}/subtasks`, { title: 'Oil' })

test('adding answers a subtask that is not completed', async () => {
  const answer = await people.editor.post(`/tasks/${taskId}/subtasks`, { title: ' Oil ', completed: true })
  expectAnswer(answer, 201, { id: anId, title: 'Oil', completed: false, taskId, createdAt: anInstant })
})

test('the list holds them oldest first', async () => {
  const { id } = await make(people.owner, '/tasks', { title: 'T', projectId })
  expectAnswer(await people.viewer.get(`/tasks/${id}/subtasks`), 200, [])
  const added: Body[] = []
  for (const title of ['b', 'a', 'c'])
    added.push(await make(people.owner, `/tasks/${id}/subtasks`, { title }))
  expectAnswer(await people.viewer.get(`/tasks/${id}/subtasks`), 200, added)
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

test('a set is safe to repeat: the second time nothing happens', async () => {
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

test('a title is 1 to 500 characters once trimmed', async () => {
  const { id } = await add()
  for (const [title, stored] of rightTexts(500)) {
    expect((await make(people.editor, `/tasks/${taskId}/subtasks`, { title })).title).toBe(stored)
    expect((await people.editor.patch(`/tasks/subtasks/${id}`, { title })).body.title).toBe(stored)
  }
  for (const title of wrongNames(500)) {
    expectRefusal(await people.editor.post(`/tasks/${taskId}/subtasks`, { title }), 400, /^title must be/)
    expectRefusal(await people.editor.patch(`/tasks/subtasks/${id}`, { title }), 400, /^title must be/)
  }
  expectRefusal(await people.editor.post(`/tasks/${taskId}/subtasks`, {}), 400, /^title is required/)
})

test('completed is true or false and nothing like it', async () => {
  const { id } = await add()
  for (const completed of ['true', 'false', 1, 0, null, '', [], {}]) {
    const answer = await people.editor.patch(`/tasks/subtasks/${id}`, { completed })
    expectRefusal(answer, 400, /^completed must be true or false/)
  }
})

test('deleting says so, and the subtask is gone', async () => {
  const { id } = await add()
  const message = 'Subtask deleted successfully'
  expectAnswer(await people.editor.delete(`/tasks/subtasks/${id}`), 200, { message })
  expectRefusal(await people.editor.patch(`/tasks/subtasks/${id}/toggle`), 404, 'Subtask not found')
  expectRefusal(await people.editor.delete(`/tasks/subtasks/${id}`), 404, 'Subtask not found')
  expect((await people.viewer.get(`/tasks/${taskId}/subtasks`)).body.map((s) => s.id)).not.toContain(id)
})

test('the id of another kind of thing is not found', async () => {
  const comment = await make(people.editor, `/tasks/${taskId}/comments`, { text: 'C' })
  for (const id of [taskId, projectId, comment.id]) {
    expectRefusal(await people.editor.patch(`/tasks/subtasks/${id}/toggle`), 404, 'Subtask not found')
  }
})
