import { type Client, make, openScene } from '../kit.ts'

const { service, busy, calm } = await openScene(['Busy', 'Calm'], {})
// Otherwise, on a slow machine, the process may stop counting as shared, and the slots of slow requests may be freed.
service.services.scheduler.isShared = () => true
Object.assign(service.services.scheduler, { freeStuck: () => {} })
const [busyTask, calmTask] = [await taskOf(busy), await taskOf(calm)]

async function taskOf(owner: Client): Promise<string> {
  const { id: projectId } = await make(owner, '/projects', { name: 'P' })
  return (await make(owner, '/tasks', { title: 'T', projectId })).id
}

// Up to 128 waiting requests are never rejected, however long they wait.
const flood = 120
/** How many requests of the busy account may finish before a request of the calm account. */
const maxAhead = 60

/** Sends many requests of one account, then one request of another account. Returns how many finish before it. */
async function sendFlood(calmOne: () => Promise<unknown>, many: (n: number) => Promise<{ status: number }>) {
  await calm.get(`/tasks/${calmTask}`)
  let answered = 0
  const all = Array.from({ length: flood }, async (_, n) => {
    const { status } = await many(n)
    answered++
    return status
  })
  await calmOne()
  const before = answered
  return { before, statuses: new Set(await Promise.all(all)) }
}

/** Sends a request that is rejected without a query, so that only its place in the queue matters. */
const rejectedCalmly = () => calm.post('/tasks', { title: 7 })

test("while another account is active, a busy account's writes are committed in small groups", async () => {
  const before = largeCommits()
  const { statuses } = await sendFlood(
    () => calm.patch(`/tasks/${calmTask}`, { title: 'Calm' }),
    (n) => busy.patch(`/tasks/${busyTask}`, { title: `T${n}` }),
  )
  expect([...statuses]).toEqual([200])
  expect(largeCommits() - before).toBe(0)
})

function largeCommits(): number {
  const { bounds, counts } = service.services.counts.commits.events
  return counts.slice(bounds.indexOf(32) + 1).reduce((sum, count) => sum + count, 0)
}

test('rejected requests are also scheduled fairly among accounts', async () => {
  const { before, statuses } = await sendFlood(rejectedCalmly, () => busy.post('/tasks', { title: 7 }))
  expect([...statuses]).toEqual([400])
  expect(before).toBeLessThan(maxAhead)
})

test('a waiting long poll does not block other requests of its account', async () => {
  const { id } = await make(busy, '/projects', { name: 'Quiet' })
  await calm.get(`/tasks/${calmTask}`)
  const polls = Array.from({ length: 40 }, () => busy.get(`/projects/${id}/events?after=1&wait=20`))
  const reads = Array.from({ length: 40 }, () => busy.post('/events/read', { after: { [id]: 1 }, wait: 20 }))
  expect((await busy.get(`/tasks/${busyTask}`)).status).toBe(200)
  await make(busy, '/tasks', { title: 'News', projectId: id })
  expect((await Promise.all(polls)).map(({ body }) => body.length)).toEqual(Array(40).fill(1))
  expect(await Promise.all(reads.map(async (one) => (await one).status))).toEqual(Array(40).fill(200))
})
