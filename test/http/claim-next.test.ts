import { faultsOf, forFile, isReplay, make, makeTasks, openTestService } from '../kit.ts'
import { runBatch, upTo } from '../kit.ts'
import { batchResult, newTask } from './batch-scene.ts'
import { openQueue, titleIn } from './queue-scene.ts'

const queue = await openQueue()
const { at, ada, bea, service, sql, add, batch, claimFor, next, patch, take, takeAll } = queue
// Each test begins with an empty queue.
beforeEach(async () => void (await patch({ status: 'DONE' })))

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

test('claims the first ready task after the same batch has finished many tasks', async () => {
  for (const finished of [20, 150]) {
    const titles = [...upTo(finished).map((n) => `T${n}`), `After ${finished}`, 'Second']
    const creations = titles.map((title) => newTask(title))
    const created = await runBatch(ada, at.projectId, creations)
    const finish = created.slice(0, finished).map(({ id }) => ({ op: 'task.update', id, status: 'DONE' }))
    const claimNext = { op: 'task.claim_next', leaseSeconds: 60 }
    const { results } = batchResult(await batch([...finish, newTask('Low', { priority: 'LOW' }), claimNext]))
    expect(results.at(-1)!.title).toBe(`After ${finished}`)
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
