import { expect, test } from 'bun:test'
import { type Answer, make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'

// A read that waits for the lock lasts far longer than the timeout of its request.
const { service, ada } = await openScene(['Ada'], { WRITE_TIMEOUT_MS: '1000', READ_TIMEOUT_MS: '60000' })
const project = await make(ada, '/projects', { name: 'P' })

/** Sends a request while the table of comments is locked, then a write to the project under the same lock. */
async function whileLocked(send: () => Promise<Answer>): Promise<Answer[]> {
  const locking = await service.services.database.background.reserve()
  try {
    await locking`begin`
    await locking`lock table comments in access exclusive mode`
    return [await send(), await ada.post('/tasks', { title: 'Meanwhile', projectId: project.id })]
  } finally {
    await locking`rollback`
    locking.release()
  }
}

const newTask = () => make(ada, '/tasks', { title: 'T', projectId: project.id })
const statuses = (answers: Answer[]) => answers.map(({ status }) => status)

test('a move that times out while it reads comments does not block its project', async () => {
  const { id } = await newTask()
  const other = await make(ada, '/projects', { name: 'Other' })
  const move = () => ada.patch(`/tasks/${id}`, { projectId: other.id })
  expect(statuses(await whileLocked(move))).toEqual([503, 201])
  expect((await ada.get(`/tasks/${id}`)).body.projectId).toBe(project.id)
  expect((await move()).status).toBe(200)
})

test('an undo that times out while it reads comments does not block its project', async () => {
  const { id } = await newTask()
  const seq = Number((await ada.get(`/tasks/${id}`)).headers.get('docket-version'))
  const undo = () => ada.post(`/projects/${project.id}/undo`, { seq })
  expect(statuses(await whileLocked(undo))).toEqual([503, 201])
  expect((await ada.get(`/tasks/${id}`)).status).toBe(200)
  expect((await undo()).status).toBe(200)
})
