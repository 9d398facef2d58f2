import { type Answer, type Body, eventually, expectError, faultsOf, make, openScene } from '../kit.ts'
import { readFeed } from '../kit.ts'

const { service, ada, sql } = await openScene(['Ada'])
service.startWorkers()

let projectId = ''
beforeEach(async () => void (projectId = (await make(ada, '/projects', { name: 'Engine' })).id))

type Task = Body & { remindAt: string | null }

const later = '2130-01-31T17:00:00.000Z'
const passed = 'remindAt must be in the future'
const create = (fields: object = {}) => make(ada, '/tasks', { projectId, title: 'Oil', ...fields })
const patch = (id: string, fields: object) => ada.patch(`/tasks/${id}`, fields)
const get = async (id: string, query = '') => (await ada.get(`/tasks/${id}${query}`)).body as Task
const undo = (seq: number) => ada.post(`/projects/${projectId}/undo`, { seq })
const eventsOf = (type: string) => readFeed(ada, `/projects/${projectId}/events?limit=200&types=${type}`)
const recorded = async (type: string, count = 1) => {
  await eventually(`${count} ${type}`, async () => (await eventsOf(type)).length >= count)
  const events = await eventsOf(type)
  expect(events).toHaveLength(count)
  return events.at(-1)!
}

/** Sends a time in the near future. If the request takes longer, sends a later time. */
async function soon(send: (at: string) => Promise<Answer>): Promise<string> {
  for (let ms = 500; ; ms *= 2) {
    const at = new Date(Date.now() + ms).toISOString()
    const answer = await send(at)
    if (answer.status < 300) return at
    expectError(answer, 400, passed)
  }
}

test('a reminder is recorded by the worker at its time, and cleared', async () => {
  const { id } = await create()
  const remindAt = await soon((at) => patch(id, { remindAt: at }))
  const event = await recorded('task.reminded')
  expect(event).toMatchObject({ before: { remindAt }, after: { remindAt: null }, actor: { name: null } })
  expect(event.at >= remindAt).toBe(true)
  const shown = [await get(id), await get(id, `?asOf=${event.seq - 1}`)].map((task) => task.remindAt)
  expect(shown).toEqual([null, remindAt])
  const history = await readFeed(ada, `/tasks/${id}/history`)
  expect(history.map(({ type }) => type)).toContain('task.reminded')
  const message =
    'The end of a claim, a reminder, a due date and task.ready cannot be undone: change the task again'
  expectError(await undo(event.seq), 409, message)
  // If an undo restores a reminder whose time has passed, a worker records the reminder at once.
  const again = await soon((at) => patch(id, { remindAt: at }))
  await ada.delete(`/tasks/${id}`)
  await eventually('the time of the reminder', () => new Date().toISOString() > again)
  const deletion = (await eventsOf('task.deleted'))[0]!.seq
  expect((await undo(deletion)).status).toBe(200)
  await recorded('task.reminded', 2)
  expect(await faultsOf(sql)).toEqual([])
})

test('a due date is recorded once, also after an undo and a move, and a move keeps a reminder', async () => {
  const { id } = await create({ remindAt: later })
  const dueDate = await soon((at) => patch(id, { dueDate: at, remindAt: at }))
  const event = await recorded('task.due')
  expect(event).toMatchObject({ entityId: id, before: {}, after: {} })
  expect(event.at >= dueDate).toBe(true)
  await recorded('task.reminded')
  // Restores the recorded due date, which must not be recorded again.
  await patch(id, { dueDate: later })
  expect((await undo((await eventsOf('task.updated')).at(-1)!.seq)).status).toBe(200)
  const other = (await make(ada, '/projects', { name: 'Other' })).id
  expectError(await patch(id, { projectId: other, remindAt: '2020-01-01' }), 400, passed)
  const moved = await patch(id, { projectId: other, remindAt: later })
  expect(moved.body).toMatchObject({ dueDate, remindAt: later })
  projectId = other
  await soon((at) => patch(id, { remindAt: at }))
  await recorded('task.reminded')
  expect(await eventsOf('task.due')).toEqual([])
  expect(await faultsOf(sql)).toEqual([])
})

test('the end of the last blocker of a task records one event, which changes nothing and cannot be undone', async () => {
  const blockedByIds = [(await create()).id, (await create()).id]
  const { id: task } = await create({ title: 'Cast', blockedByIds })
  const before = await ada.get(`/tasks/${task}`)
  for (const id of blockedByIds) await patch(id, { status: 'DONE' })
  const event = await recorded('task.ready')
  expect(event).toMatchObject({ entity: 'task', entityId: task, taskId: task, actor: { name: null } })
  expect([event.before, event.after]).toEqual([{}, {}])
  const after = await ada.get(`/tasks/${task}`, { 'if-none-match': before.headers.get('etag')! })
  expect(after.status).toBe(304)
  expect((await ada.get(`/tasks/${task}`)).body).toEqual(before.body)
  expectError(await undo(event.seq), 409, /task.ready cannot be undone/)
  const history = await readFeed(ada, `/tasks/${task}/history`)
  expect(history.map(({ type }) => type)).toEqual(['task.ready', 'task.created'])
  await patch(task, { title: 'Cast the frame' })
  for (const asOf of [event.seq - 1, event.seq]) {
    const { body } = await ada.get(`/tasks?projectId=${projectId}&asOf=${asOf}`)
    const listed = body.find(({ id }) => id === task)!
    const read = (await ada.get(`/tasks/${task}?asOf=${asOf}`)).body
    expect([listed.title, read.title]).toEqual(['Cast', 'Cast'])
  }
  expect(await faultsOf(sql)).toEqual([])
})
