import { type Body, eventually, expectError, faultsOf, invite, make, openScene, readFeed } from '../kit.ts'
import { runBatch } from '../kit.ts'

const { service, ada, bea, sql } = await openScene(['Ada', 'Bea'])
service.startWorkers()

let projectId = ''
beforeEach(async () => void (projectId = (await make(ada, '/projects', { name: 'Engine' })).id))

const add = async (title: string, blockedByIds: string[] = [], fields: object = {}) =>
  (await make(ada, '/tasks', { projectId, title, blockedByIds, ...fields })).id
const patch = (id: string, fields: object) => ada.patch(`/tasks/${id}`, fields)
const done = (id: string) => patch(id, { status: 'DONE' })
const reopen = (id: string) => patch(id, { status: 'TODO' })
const events = (query: string) => readFeed(ada, `/projects/${projectId}/events?limit=500&types=${query}`)
const undo = (seq: number) => ada.post(`/projects/${projectId}/undo`, { seq })
/** Undoes the last event of the type. */
async function undoLast(type: string): Promise<void> {
  expect((await undo((await events(type)).at(-1)!.seq)).status).toBe(200)
}

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

const elsewhere = async () => (await make(ada, '/projects', { name: 'Other' })).id
const finish = (id: string) => ({ op: 'task.update', id, status: 'DONE' })
const endings: [how: string, end: (blocker: string, task: string) => Promise<unknown>, events?: number][] = [
  ['deleted', (blocker) => ada.delete(`/tasks/${blocker}`)],
  ['deleted in a batch', (id) => runBatch(ada, projectId, [{ op: 'task.delete', id }])],
  ['unlinked', (_, task) => patch(task, { blockedByIds: [] })],
  ['removed from the list', (id, task) => patch(task, { removeBlockedByIds: [id] })],
  ['moved to another project', async (id) => patch(id, { projectId: await elsewhere() })],
  [
    'done in a batch with its task',
    (id) =>
      runBatch(ada, projectId, [
        { op: 'task.create', as: 'blocker', title: 'Blocker' },
        { op: 'task.create', title: 'In the batch', blockedByIds: ['#blocker'] },
        finish('#blocker'),
        finish(id),
      ]),
    2,
  ],
  [
    'done and unlinked at once',
    (id, task) => runBatch(ada, projectId, [finish(id), { op: 'task.update', id: task, blockedByIds: [] }]),
  ],
]

test.each(endings)('a task whose blocker is %s becomes ready', async (_, end, count = 1) => {
  const blocker = await add('Blocker')
  const task = await add('Task', [blocker])
  await end(blocker, task)
  const ids = await recorded()
  expect(ids).toContain(task)
  expect(ids).toHaveLength(count)
  expect(await faultsOf(sql)).toEqual([])
})

test('an undo that closes or deletes a blocker, or removes a link, makes the task ready again', async () => {
  const blocker = await add('Blocker')
  const task = await add('Task', [blocker])
  const expected: string[] = []
  const expectReady = async (isReady: boolean) => {
    if (isReady) expected.push(task)
    expect(await recorded()).toEqual(expected)
  }
  await done(blocker)
  await expectReady(true)
  await reopen(blocker)
  await expectReady(false)
  await undoLast('task.updated')
  await expectReady(true)
  await patch(task, { addBlockedByIds: [await add('Other')] })
  await undoLast('task.updated')
  await expectReady(true)
  await reopen(blocker)
  await ada.delete(`/tasks/${blocker}`)
  const deletion = (await events('task.deleted')).at(-1)!.seq
  await expectReady(true)
  // A deleted blocker that an undo restores blocks again.
  expect((await undo(deletion)).status).toBe(200)
  await expectReady(false)
  await done(blocker)
  await expectReady(true)
})

test('no event for a task that never had an open blocker, has another one, is claimed or is DONE', async () => {
  const [blocker, open] = [await add('Blocker'), await add('Open')]
  const claimed = await add('Claimed', [blocker])
  await ada.post(`/tasks/${claimed}/claim`, { leaseSeconds: 600 })
  const closed = await add('Closed', [blocker])
  await done(closed)
  await add('Blocked', [blocker, open])
  await done(blocker)
  const late = await add('Late', [blocker])
  const later = await add('Later')
  for (const blockedByIds of [[blocker], []]) await patch(later, { blockedByIds })
  expect(await recorded()).toEqual([])
  await ada.post(`/tasks/${claimed}/release`)
  await reopen(closed)
  await patch(late, { blockedByIds: [] })
  expect(await recorded()).toEqual([])
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
