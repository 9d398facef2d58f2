import { type Body, eventually, expectError, faultsOf, invite, make, openScene, readFeed } from '../kit.ts'

const { service, ada, bea, sql } = await openScene(['Ada', 'Bea'])
service.startWorkers()

let projectId = ''
beforeEach(async () => void (projectId = (await make(ada, '/projects', { name: 'Engine' })).id))

const add = async (title: string, blockedByIds: string[] = [], fields: object = {}) =>
  (await make(ada, '/tasks', { projectId, title, blockedByIds, ...fields })).id
const patch = (id: string, fields: object) => ada.patch(`/tasks/${id}`, fields)
const done = (id: string) => patch(id, { status: 'DONE' })
const events = (query: string) => readFeed(ada, `/projects/${projectId}/events?limit=500&types=${query}`)
const undo = (seq: number) => ada.post(`/projects/${projectId}/undo`, { seq })
const markers = new Set<string>()

/**
 * Returns the ids of the tasks that became ready, in the order of their events. A task of its own becomes ready last: its
 * event shows that the log has been searched up to here.
 */
async function recorded(): Promise<string[]> {
  const last = await add('Last blocker')
  const marker = await add('Marker', [last])
  markers.add(marker)
  await ada.delete(`/tasks/${last}`)
  const ids = async () => (await events('task.ready')).map(({ entityId }) => entityId)
  await eventually('the event of the marker', async () => (await ids()).includes(marker))
  return (await ids()).filter((id) => !markers.has(id))
}

test('the end of the last blocker records one event, which changes nothing and cannot be undone', async () => {
  const [first, second] = [await add('First'), await add('Second')]
  const task = await add('Cast', [first, second], { description: 'In brass' })
  await done(first)
  expect(await recorded()).toEqual([])
  const before = await ada.get(`/tasks/${task}`)
  await done(second)
  expect(await recorded()).toEqual([task])
  const event = (await events('task.ready')).find(({ entityId }) => entityId === task)!
  expect(event).toMatchObject({ entity: 'task', taskId: task, actor: { name: null } })
  expect([event.before, event.after]).toEqual([{}, {}])
  const after = await ada.get(`/tasks/${task}`, { 'if-none-match': before.headers.get('etag')! })
  expect(after.status).toBe(304)
  expect((await ada.get(`/tasks/${task}`)).body).toEqual(before.body)
  expectError(await undo(event.seq), 409, /became ready/)
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

test('the end of a claim makes no event, also if a worker or the removal of the holder ends it', async () => {
  const { id: memberId } = await invite(ada, projectId, bea, 'EDITOR')
  const blocker = await add('Blocker')
  const task = await add('Task', [blocker])
  await bea.post(`/tasks/${task}/claim`, { leaseSeconds: 600 })
  await done(blocker)
  expect(await recorded()).toEqual([])
  await ada.delete(`/projects/${projectId}/members/${memberId}`)
  await eventually('the end of the claim', async () => {
    const { body } = await ada.get(`/tasks/${task}`)
    return (body as Body & { claim: unknown }).claim === null
  })
  expect(await recorded()).toEqual([])
})
