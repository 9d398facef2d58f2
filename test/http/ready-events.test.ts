import { type Body, eventually, expectError, faultsOf, invite, make, openScene, runBatch } from '../kit.ts'

const { service, ada, bea, sql } = await openScene(['Ada', 'Bea'])
service.startWorkers()

let projectId = ''
beforeEach(async () => void (projectId = (await make(ada, '/projects', { name: 'Engine' })).id))

interface Event {
  type: string
  seq: number
  entityId: string
  taskId: string
  before: object
  after: object
  actor: { name: string | null }
}

const add = async (title: string, blockedByIds: string[] = [], fields: object = {}) =>
  (await make(ada, '/tasks', { projectId, title, blockedByIds, ...fields })).id
const patch = (id: string, fields: object) => ada.patch(`/tasks/${id}`, fields)
const done = (id: string) => patch(id, { status: 'DONE' })
const reopen = (id: string) => patch(id, { status: 'TODO' })
const undo = async (seq: number) => ada.post(`/projects/${projectId}/undo`, { seq })
/** Undoes the last change of the task. */
async function undoLastOf(id: string): Promise<void> {
  const [event] = ((await ada.get(`/tasks/${id}/history`)).body as unknown as Event[]).filter(
    ({ type }) => type === 'task.updated',
  )
  expect((await undo(event!.seq)).status).toBe(200)
}
const readyEvents = async () =>
  (await ada.get(`/projects/${projectId}/events?types=task.ready&limit=500`)).body as unknown as Event[]

const markers = new Set<string>()

/**
 * Returns the ids of the tasks that became ready, in the order of their events. A task of its own becomes ready last: its
 * event shows that the log has been searched up to here.
 */
async function recorded(): Promise<string[]> {
  const last = await add('Last blocker')
  const marker = await add('Marker', [last])
  markers.add(marker)
  await done(last)
  const ids = async () => (await readyEvents()).map(({ entityId }) => entityId)
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
  const [event] = (await readyEvents()).filter(({ entityId }) => entityId === task)
  expect(event).toMatchObject({
    entity: 'task',
    taskId: task,
    before: {},
    after: {},
    actor: { name: null },
  } as never)
  expect([Object.keys(event!.before), Object.keys(event!.after)]).toEqual([[], []])
  const after = await ada.get(`/tasks/${task}`, { 'if-none-match': before.headers.get('etag')! })
  expect(after.status).toBe(304)
  expect((await ada.get(`/tasks/${task}`)).body).toEqual(before.body)
  expectError(await undo(event!.seq), 409, /became ready/)
  const history = (await ada.get(`/tasks/${task}/history`)).body as unknown as Event[]
  expect(history.map(({ type }) => type)).toEqual(['task.ready', 'task.created'])
  const titlesAt = async (asOf: number) => {
    const { body } = await ada.get(`/tasks?projectId=${projectId}&asOf=${asOf}`)
    return (body as Body[]).filter(({ id }) => id === task).map(({ title }) => title)
  }
  for (const asOf of [event!.seq - 1, event!.seq]) expect(await titlesAt(asOf)).toEqual(['Cast'])
  await patch(task, { title: 'Cast the frame' })
  for (const asOf of [event!.seq - 1, event!.seq]) {
    expect(await titlesAt(asOf)).toEqual(['Cast'])
    expect((await ada.get(`/tasks/${task}?asOf=${asOf}`)).body).toMatchObject({ title: 'Cast' })
  }
  expect(await faultsOf(sql)).toEqual([])
})

test.each([
  ['deleted', (blocker: string) => ada.delete(`/tasks/${blocker}`)],
  ['deleted in a batch', (id: string) => runBatch(ada, projectId, [{ op: 'task.delete', id }])],
  ['unlinked', (_: string, task: string) => patch(task, { blockedByIds: [] })],
  ['removed from the list', (id: string, task: string) => patch(task, { removeBlockedByIds: [id] })],
  [
    'moved to another project',
    async (id: string) => patch(id, { projectId: (await make(ada, '/projects', { name: 'Other' })).id }),
  ],
  [
    'done in a batch with its task',
    async (id: string) => {
      await runBatch(ada, projectId, [
        { op: 'task.create', as: 'blocker', title: 'Blocker' },
        { op: 'task.create', title: 'In the batch', blockedByIds: ['#blocker'] },
        { op: 'task.update', id: '#blocker', status: 'DONE' },
        { op: 'task.update', id, status: 'DONE' },
      ])
    },
    2,
  ],
  [
    'done and unlinked at once',
    (id: string, task: string) =>
      runBatch(ada, projectId, [
        { op: 'task.update', id, status: 'DONE' },
        { op: 'task.update', id: task, blockedByIds: [] },
      ]),
  ],
] as [string, (blocker: string, task: string) => Promise<unknown>, number?][])(
  'a task whose blocker is %s becomes ready',
  async (_, end, events = 1) => {
    const blocker = await add('Blocker')
    const task = await add('Task', [blocker])
    await end(blocker, task)
    const ids = await recorded()
    expect(ids).toContain(task)
    expect(ids).toHaveLength(events)
    expect(await faultsOf(sql)).toEqual([])
  },
)

test('an undo that closes a blocker or removes a link makes the task ready', async () => {
  const blocker = await add('Blocker')
  const task = await add('Task', [blocker])
  await done(blocker)
  expect(await recorded()).toEqual([task])
  await reopen(blocker)
  expect(await recorded()).toEqual([task])
  await undoLastOf(blocker)
  expect(await recorded()).toEqual([task, task])
  const other = await add('Other')
  await patch(task, { addBlockedByIds: [other] })
  await undoLastOf(task)
  expect(await recorded()).toEqual([task, task, task])
})

test('a deleted blocker that an undo restores blocks again, and the task becomes ready again', async () => {
  const blocker = await add('Blocker')
  const task = await add('Task', [blocker])
  await ada.delete(`/tasks/${blocker}`)
  expect(await recorded()).toEqual([task])
  const events = (await ada.get(`/projects/${projectId}/events?types=task.deleted`))
    .body as unknown as Event[]
  expect((await undo(events[0]!.seq)).status).toBe(200)
  expect(await recorded()).toEqual([task])
  await done(blocker)
  expect(await recorded()).toEqual([task, task])
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
  await patch(later, { blockedByIds: [blocker] })
  await patch(later, { blockedByIds: [] })
  expect(await recorded()).toEqual([])
  await ada.post(`/tasks/${claimed}/release`)
  await reopen(closed)
  await patch(late, { blockedByIds: null })
  expect(await recorded()).toEqual([])
})

test('the end of a claim makes no event, also if a worker or the removal of the holder ends it', async () => {
  await invite(ada, projectId, bea, 'EDITOR')
  const blocker = await add('Blocker')
  const task = await add('Task', [blocker])
  await bea.post(`/tasks/${task}/claim`, { leaseSeconds: 600 })
  await done(blocker)
  expect(await recorded()).toEqual([])
  const members = (await ada.get(`/projects/${projectId}/members`)).body as Body[]
  await ada.delete(`/projects/${projectId}/members/${members[0]!.id}`)
  await eventually('the end of the claim', async () => {
    const { body } = await ada.get(`/tasks/${task}`)
    return (body as Body & { claim: unknown }).claim === null
  })
  expect(await recorded()).toEqual([])
})
