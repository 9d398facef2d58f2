import { type Answer, type Body, eventually, expectError, faultsOf, make, openScene } from '../kit.ts'

const { service, ada, sql } = await openScene(['Ada'])
service.startWorkers()

let projectId = ''
beforeEach(async () => void (projectId = (await make(ada, '/projects', { name: 'Engine' })).id))

type Task = Body & { remindAt: string | null }
type Event = {
  type: string
  seq: number
  at: string
  before: Partial<Task>
  after: Partial<Task>
  actor: Body
}

const [later, evenLater] = ['2130-01-31T17:00:00.000Z', '2130-02-28T17:00:00.000Z']
const passed = 'remindAt must be in the future'
const create = async (fields: object = {}) =>
  (await make(ada, '/tasks', { projectId, title: 'Oil', ...fields })) as Task
const patch = (id: string, fields: object) => ada.patch(`/tasks/${id}`, fields)
const get = async (id: string, query = '') => (await ada.get(`/tasks/${id}${query}`)).body as Task
const undo = (seq: number) => ada.post(`/projects/${projectId}/undo`, { seq })
const eventsOf = async (type: string) =>
  ((await ada.get(`/projects/${projectId}/events?limit=200`)).body as unknown as Event[]).filter(
    (event) => event.type === type,
  )
const recorded = async (type: string, count = 1): Promise<Event[]> => {
  await eventually(`${count} ${type}`, async () => (await eventsOf(type)).length >= count)
  const events = await eventsOf(type)
  expect(events).toHaveLength(count)
  return events
}

/** Sends a time in the near future. If the request takes longer, sends a later time. */
async function soon(send: (at: string) => Promise<Answer>): Promise<[at: string, answer: Answer]> {
  for (let ms = 500; ; ms *= 2) {
    const at = new Date(Date.now() + ms).toISOString()
    const answer = await send(at)
    if (answer.status < 300) return [at, answer]
    expectError(answer, 400, passed)
  }
}

test('a reminder is recorded by the worker at its time, and cleared', async () => {
  const { id } = await create()
  const [remindAt, answer] = await soon((at) => patch(id, { remindAt: at }))
  expect((answer.body as Task).remindAt).toBe(remindAt)
  const [event] = await recorded('task.reminded')
  expect(event).toMatchObject({ before: { remindAt }, after: { remindAt: null }, actor: { name: null } })
  expect(event!.at >= remindAt).toBe(true)
  expect((await get(id)).remindAt).toBe(null)
  expect((await get(id, `?asOf=${event!.seq - 1}`)).remindAt).toBe(remindAt)
  const history = (await ada.get(`/tasks/${id}/history`)).body as unknown as Event[]
  expect(history.map(({ type }) => type)).toContain('task.reminded')
  expectError(
    await undo(event!.seq),
    409,
    'A recorded reminder or due date cannot be undone: set remindAt or dueDate again',
  )
  expect(await faultsOf(sql)).toEqual([])
})

test('a reminder can be changed, cleared, undone, copied in a batch and set by an external id', async () => {
  const task = await create({ remindAt: '2130-01-31T18:00:00+01:00' })
  expect(task.remindAt).toBe(later)
  expect((await patch(task.id, { remindAt: evenLater })).body).toMatchObject({ remindAt: evenLater })
  expect((await undo(3)).status).toBe(200)
  expect((await get(task.id)).remindAt).toBe(later)
  expect((await patch(task.id, { remindAt: null })).body).toMatchObject({ remindAt: null })
  const { id } = await create()
  const operations = [
    { op: 'task.create', title: 'New', remindAt: later },
    { op: 'task.update', id, remindAt: later },
    { op: 'task.upsert', externalId: 'A', title: 'Other', remindAt: later },
  ]
  const { status } = await ada.post(`/projects/${projectId}/batch`, { operations })
  expect(status).toBe(200)
  const shown = (await ada.get(`/tasks?projectId=${projectId}`)).body as unknown as Task[]
  expect(shown.map(({ remindAt }) => remindAt)).toEqual([null, later, later, later])
  expect(await faultsOf(sql)).toEqual([])
})

test('a reminder in the past is rejected with 400', async () => {
  const { id } = await create()
  const past = { remindAt: '2020-01-01' }
  expectError(await ada.post('/tasks', { projectId, title: 'T', ...past }), 400, passed)
  expectError(await patch(id, past), 400, passed)
  expectError(
    await ada.call('PUT', `/projects/${projectId}/tasks/external/A`, { title: 'T', ...past }),
    400,
    passed,
  )
  expectError(await patch(id, { remindAt: 'tomorrow' }), 400, /^remindAt must be an ISO 8601/)
  const operations = [{ op: 'task.update', id, ...past }]
  expectError(
    await ada.post(`/projects/${projectId}/batch`, { operations }),
    400,
    /remindAt must be in the future/,
  )
})

test('if an undo restores a reminder whose time has passed, a worker records the reminder at once', async () => {
  const { id } = await create()
  const [remindAt] = await soon((at) => patch(id, { remindAt: at }))
  await ada.delete(`/tasks/${id}`)
  await eventually('the time of the reminder', () => new Date().toISOString() > remindAt)
  expect((await undo((await eventsOf('task.deleted'))[0]!.seq)).status).toBe(200)
  await recorded('task.reminded')
  expect(await faultsOf(sql)).toEqual([])
})

test('a move keeps a reminder, and records no due date again', async () => {
  const { id } = await create({ remindAt: later })
  const [dueDate] = await soon((at) => patch(id, { dueDate: at, remindAt: at }))
  await recorded('task.due')
  await recorded('task.reminded')
  const other = (await make(ada, '/projects', { name: 'Other' })).id
  expectError(await patch(id, { projectId: other, remindAt: '2020-01-01' }), 400, passed)
  expect((await patch(id, { projectId: other, remindAt: later })).body).toMatchObject({
    dueDate,
    remindAt: later,
  })
  projectId = other
  await soon((at) => patch(id, { remindAt: at }))
  await recorded('task.reminded')
  expect(await eventsOf('task.due')).toEqual([])
  expect(await faultsOf(sql)).toEqual([])
})

test('a due date is recorded once, unless the task is DONE or the date was set in the past', async () => {
  const { id } = await create()
  const past = { dueDate: '2020-01-01' }
  const others = [await create(past), await create({ status: 'DONE' }), await create()]
  await patch(others[2]!.id, past)
  const at = new Date(Date.now() + 500).toISOString()
  await patch(others[1]!.id, { dueDate: at })
  const [dueDate] = await soon((at) => patch(id, { dueDate: at, remindAt: at }))
  const [event] = await recorded('task.due')
  await recorded('task.reminded')
  expect(event).toMatchObject({ entityId: id, before: {}, after: {} })
  expect(event!.at >= dueDate).toBe(true)
  expect((await patch(others[1]!.id, { status: 'TODO' })).status).toBe(200)
  // Restores the recorded due date, which must not be recorded again.
  await patch(id, { dueDate: later })
  expect((await undo((await eventsOf('task.updated')).at(-1)!.seq)).status).toBe(200)
  expect((await get(id)).dueDate).toBe(dueDate)
  const [next] = await soon((at) => patch(id, { dueDate: at, remindAt: at }))
  const [, second] = await recorded('task.due', 2)
  expect(second!.at >= next).toBe(true)
  expect(await faultsOf(sql)).toEqual([])
})
