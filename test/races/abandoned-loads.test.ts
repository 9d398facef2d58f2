import { type Answer, make, openScene, type Sql } from '../kit.ts'

// The read timeout is longer than the write timeout, so that a request times out before its read does.
const { service, ada } = await openScene(['Ada'], { WRITE_TIMEOUT_MS: '3000', READ_TIMEOUT_MS: '60000' })
const project = await make(ada, '/projects', { name: 'P' })

/** Sends a request and then a write to the project, both while a lock is held: of all comments by default. */
async function whileLocked(
  send: () => Promise<Answer>,
  lock = (tx: Sql) => tx`lock table comments in access exclusive mode`,
): Promise<Answer[]> {
  const locking = await service.services.database.background.reserve()
  try {
    await locking`begin`
    await lock(locking)
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

test('a move that times out while the other project is locked does not block its project', async () => {
  const { id } = await newTask()
  const { id: otherId } = await make(ada, '/projects', { name: 'Other' })
  const move = () => ada.patch(`/tasks/${id}`, { projectId: otherId })
  const moved = await whileLocked(
    move,
    (tx) => tx`select from streams where project_id = ${otherId} for update`,
  )
  expect(statuses(moved)).toEqual([503, 201])
  expect((await ada.get(`/tasks/${id}`)).body.projectId).toBe(project.id)
  expect((await move()).status).toBe(200)
})
