import { expectError, faultsOf, forFile, isReplay, make, makeTasks, openTestService } from '../kit.ts'
import { runBatch, unknownId } from '../kit.ts'
import { upTo } from '../kit.ts'
import type { Body } from '../kit.ts'
import { batchResult, newTask } from './batch-scene.ts'
import { claimIn, openQueue, titleIn } from './queue-scene.ts'

const queue = await openQueue()
const { at, ada, bea, service, sql, add, batch, claim, claimFor, next, patch, take, takeAll, undo, version } =
  queue
// Each test begins with an empty queue.
beforeEach(async () => void (await patch({ status: 'DONE' })))
const titlesIn = (results: Body[]) => results.map(({ title }) => title)
const claimNext = { op: 'task.claim_next', leaseSeconds: 60 }

test('claims ready tasks in the order of priority and position, and returns 204 if no task is ready', async () => {
  await add('Low', { priority: 'LOW' })
  const one = await add('One')
  await add('Two', { before: one.id })
  await add('High', { priority: 'HIGH' })
  await add('Done', { status: 'DONE' })
  const claimed = await next({}, bea)
  expect([claimed.body.title, claimIn(claimed)!.by.name]).toEqual(['High', 'Bea'])
  expect(claimIn(claimed)!.seq).toBe(await version())
  const read = await bea.get(`/tasks/${claimed.body.id}`)
  expect(claimed.headers.get('etag')).toBe(read.headers.get('etag')!)
  expect(await takeAll()).toEqual(['Two', 'One', 'Low'])
  const none = await next()
  expect([none.status, none.text]).toEqual([204, ''])
})

test('skips tasks with a live claim, also of the caller, and tasks with an open blocker', async () => {
  const [first, second] = [await add('First'), await add('Second')]
  await add('Blocked', { blockedByIds: [first.id, second.id] })
  await claim(ada, 60, first.id)
  expect(await takeAll()).toEqual(['Second'])
  await patch({ status: 'DONE' }, first.id)
  expect(await take()).toBe(204)
  await ada.delete(`/tasks/${second.id}`)
  expect(await takeAll()).toEqual(['Blocked'])
  for (const status of ['DONE', 'TODO']) await patch({ status }, first.id)
  expect(await takeAll()).toEqual(['First'])
  expect((await undo(await version())).status).toBe(200)
  expect(await takeAll()).toEqual(['First'])
})

test('filters by all of the labels, any of the labels, priority and assignee', async () => {
  const labels = ['a', 'b', 'c'].map((name) => ({ op: 'label.create', name }))
  const [a, b, c] = (await runBatch(ada, at.projectId, labels)).map(({ id }) => id)
  await add('A', { labelIds: [a] })
  await add('AB', { labelIds: [a, b], priority: 'LOW' })
  await add('C', { labelIds: [c], assigneeId: bea.id })
  await add('None', { assigneeId: bea.id, priority: 'LOW' })
  expect(await take({ labels: [b, a] })).toBe('AB')
  expect(await take({ labels: [a, b] })).toBe(204)
  expect(await take({ anyLabel: [b, c] })).toBe('C')
  expect(await take({ assigneeId: bea.id, priority: 'HIGH' })).toBe(204)
  expect(await take({ assigneeId: bea.id, priority: 'LOW', labels: [] })).toBe('None')
  expect(await takeAll({ anyLabel: [] })).toEqual(['A'])
  await ada.delete(`/labels/${c}`)
  for (const name of ['labels', 'anyLabel'])
    for (const id of [unknownId, 'x', c])
      expectError(await next({ [name]: [id] }), 400, `${name} must be the ids of labels in the project`)
  const wrong = [{ wait: 0 }, { wait: 26 }, { wait: '5' }, { leaseSeconds: 9 }, { assigneeId: 'me' }]
  for (const body of wrong) expectError(await next(body), 400)
})

test('a repeat with its Idempotency-Key returns the same task; a 204 response is not stored', async () => {
  const headers = { 'idempotency-key': `next-${at.projectId}` }
  for (const wait of [undefined, 1]) expect((await next({ wait }, ada, headers)).status).toBe(204)
  for (const title of ['One', 'Two']) await add(title)
  const [first, second] = [await next({}, ada, headers), await next({}, ada, headers)]
  const answers = [titleIn(first), second.text, isReplay(first), isReplay(second)]
  expect(answers).toEqual(['One', first.text, false, true])
})

test('concurrent requests with one Idempotency-Key wait for the same task', async () => {
  const headers = { 'idempotency-key': `both-${at.projectId}` }
  const waiting = upTo(4).map(() => next({ wait: 25 }, ada, headers))
  for (const n of upTo(4)) await add(`T${n}`)
  expect(new Set((await Promise.all(waiting)).map(({ text }) => text)).size).toBe(1)
  expect(await takeAll()).toHaveLength(3)
})

test('concurrent requests take different tasks', async () => {
  await makeTasks(ada, at.projectId, 60)
  const titles = (await Promise.all(upTo(64).map((n) => next({}, n % 2 ? ada : bea)))).map(titleIn)
  expect(titles.filter((one) => one === 204)).toHaveLength(4)
  expect(new Set(titles.filter((one) => one !== 204)).size).toBe(60)
  expect(await faultsOf(sql)).toEqual([])
})

test('waits until a task is ready, and takes no slot of the account meanwhile', async () => {
  const waiting = upTo(20).map((n) => next({ wait: 25 }, n % 2 ? ada : bea))
  const expected = upTo(20).map((n) => `T${n}`)
  for (const title of expected) await add(title)
  expect((await Promise.all(waiting)).map(titleIn).sort()).toEqual(expected.sort())
  expect((await next({ wait: 1 })).status).toBe(204)
})

test('waits until a blocker is done, and ends when the caller loses the role', async () => {
  const first = await add('First')
  await add('Second', { blockedByIds: [first.id] })
  expect(await take()).toBe('First')
  const waiting = next({ wait: 25 }, bea)
  await patch({ status: 'DONE' }, first.id)
  expect(titleIn(await waiting)).toBe('Second')
  const rejected = next({ wait: 25 }, bea)
  await ada.delete(`/projects/${at.projectId}/members/${at.memberId}`)
  expect((await rejected).status).toBe(404)
})

/** The process then no longer has the rows of the project's tasks in memory. */
async function unloadRows(): Promise<void> {
  const { id: projectId } = await make(ada, '/projects', { name: 'Other' })
  const { id } = await make(ada, '/tasks', { projectId, title: 'Moved', status: 'DONE' })
  expect((await patch({ projectId: at.projectId }, id)).status).toBe(200)
}

test('a batch can claim tasks that the same batch creates, and is rejected if no task is ready', async () => {
  const operations = [
    newTask('One'),
    newTask('High', { priority: 'HIGH' }),
    { ...claimNext, as: 'first' },
    claimNext,
    { op: 'comment.create', taskId: '#first', text: 'Begun' },
  ]
  const { results, version } = batchResult(await batch(operations))
  const claims = results.slice(2, 4).map((body) => [body.title, claimIn({ body })!.seq])
  expect(claims).toEqual([
    ['High', version - 2],
    ['One', version - 1],
  ])
  expect(results[4]!.taskId).toBe(results[2]!.id)
  const rejected = await batch([newTask('Last'), claimNext, claimNext])
  expectError(rejected, 409, 'operations[2]: No task is ready')
  expect(await take()).toBe(204)
})

test('a batch that finishes a task, also by its external id, claims the task that it has made ready', async () => {
  const first = await add('First', { externalId: 'A' })
  const second = await add('Second', { blockedByIds: [first.id] })
  await add('Third', { blockedByIds: [first.id, second.id] })
  const taken = await batch([{ op: 'task.claim', id: first.id, leaseSeconds: 60 }, claimNext])
  expectError(taken, 409, 'operations[1]: No task is ready')
  await unloadRows()
  for (const [finish, titles] of [
    [{ op: 'task.upsert', externalId: 'A' }, ['First', 'Second']],
    [{ op: 'task.update', id: second.id }, ['Second', 'Third']],
  ] as const) {
    const { results } = batchResult(await batch([{ ...finish, status: 'DONE' }, claimNext]))
    expect(titlesIn(results)).toEqual([...titles])
  }
})

test('a batch does not claim a task that the same batch has blocked by an open task', async () => {
  const blocker = await add('Blocker', { status: 'IN_PROGRESS', priority: 'LOW' })
  const [blocked, ready] = [await add('Blocked'), await add('Ready')]
  await claim(bea, 60, blocker.id)
  await unloadRows()
  const operations = [
    { op: 'task.update', id: blocked.id, addBlockedByIds: [blocker.id] },
    { op: 'task.update', id: ready.id, addBlockedByIds: [at.taskId] },
    claimNext,
  ]
  expect(titlesIn(batchResult(await batch(operations)).results).at(-1)).toBe('Ready')
})

test('claims the first ready task after the same batch has finished many tasks', async () => {
  for (const finished of [20, 150]) {
    const titles = [...upTo(finished).map((n) => `T${n}`), `After ${finished}`, 'Second']
    const created = await runBatch(
      ada,
      at.projectId,
      titles.map((title) => newTask(title)),
    )
    const finish = created.slice(0, finished).map(({ id }) => ({ op: 'task.update', id, status: 'DONE' }))
    const operations = [...finish, newTask('Low', { priority: 'LOW' }), claimNext]
    expect(titlesIn(batchResult(await batch(operations)).results).at(-1)).toBe(`After ${finished}`)
    await patch({ status: 'DONE' }, created.at(-1)!.id)
  }
})

test('hands out a task whose claim has ended, before the end is recorded, only if the task is ready and fits', async () => {
  const labels = ['a', 'b'].map((name) => ({ op: 'label.create', name }))
  const [label, other] = (await runBatch(ada, at.projectId, labels)).map(({ id }) => id)
  const open = await add('Open')
  const fitting = { labelIds: [label], priority: 'HIGH', assigneeId: bea.id }
  const claimed: Record<string, object> = {
    Blocked: { blockedByIds: [open.id] },
    'Other label': { labelIds: [other] },
    'Other priority': { priority: 'LOW' },
    'Other assignee': { assigneeId: ada.id },
    Fitting: {},
  }
  for (const [title, fields] of Object.entries(claimed))
    await claimFor(0, (await add(title, { ...fitting, ...fields })).id)
  // This process has no task in memory, so that its decision depends on what it finds in Postgres.
  const second = await forFile(openTestService(service.env))
  const fresh = { ...bea, ...second.client.as(bea.token) }
  const list = async (query: string) => (await queue.list(`status=TODO&${query}`, fresh)).sort()
  const ready = ['Fitting', 'Open', 'Other assignee', 'Other label', 'Other priority']
  expect([await list('ready=true'), await list('claimedBy=none')]).toEqual([ready, ['Blocked', ...ready]])
  expect(await list(`claimedBy=${ada.id}`)).toEqual([])
  const filter = { anyLabel: [label], priority: 'HIGH', assigneeId: bea.id }
  expect([await take(filter, fresh), await take(filter)]).toEqual(['Fitting', 204])
  expect((await takeAll()).sort()).toEqual(ready.slice(1))
  expect(await faultsOf(sql)).toEqual([])
})

test('a task that becomes ready while a request begins to wait is claimed at once', async () => {
  for (let turn = 0; turn < 60; turn++) {
    const { id } = await make(ada, '/projects', { name: 'Turn' })
    const waiting = ada.post(`/projects/${id}/claim-next`, { leaseSeconds: 60, wait: 25 })
    for (let n = 0; n < turn; n++) await new Promise(setImmediate)
    await make(ada, '/tasks', { projectId: id, title: 'New' })
    expect([turn, titleIn(await waiting)]).toEqual([turn, 'New'])
  }
})
