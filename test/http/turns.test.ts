import { expect, spyOn, test } from 'bun:test'
import { type Client, make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'

const { service, client, busy, calm } = await openScene(['Busy', 'Calm'])
const [busyTask, calmTask] = [await taskOf(busy), await taskOf(calm)]

async function taskOf(owner: Client): Promise<string> {
  const { id: projectId } = await make(owner, '/projects', { name: 'P' })
  return (await make(owner, '/tasks', { title: 'T', projectId })).id
}

const flood = 400
/** Requests of the busy account answered before one of the calm account, at most: those in progress, and a few turns more. */
const fewAhead = 100

/** How many of many requests are answered before one of another account that comes after all of them. */
async function answeredBefore(one: () => Promise<unknown>, many: (n: number) => Promise<{ status: number }>) {
  await calm.get(`/tasks/${calmTask}`) // both accounts are active
  let answered = 0
  const all = Array.from({ length: flood }, async (_, n) => {
    const { status } = await many(n)
    answered++
    return status
  })
  await one()
  const before = answered
  return { before, statuses: new Set(await Promise.all(all)) }
}

/** Answered without a query: how many come before it is a matter of order alone. */
const rejectedCalmly = () => calm.post('/tasks', { title: 7 })

test('writes of a busy account are committed few at a time while another account writes', async () => {
  const before = largeCommits()
  const { statuses } = await answeredBefore(
    () => calm.patch(`/tasks/${calmTask}`, { title: 'Calm' }),
    (n) => busy.patch(`/tasks/${busyTask}`, { title: `T${n}` }),
  )
  expect([...statuses]).toEqual([200])
  expect(largeCommits() - before).toBe(0)
})

/** Commits of more than 32 events. */
function largeCommits(): number {
  const { bounds, counts } = service.services.counts.commits.events
  return counts.slice(bounds.indexOf(32) + 1).reduce((sum, count) => sum + count, 0)
}

test('rejected requests take turns too', async () => {
  const { before, statuses } = await answeredBefore(rejectedCalmly, () => busy.post('/tasks', { title: 7 }))
  expect([...statuses]).toEqual([400])
  expect(before).toBeLessThan(fewAhead)
})

test('requests that wait for events leave their place to others', async () => {
  const { id } = await make(busy, '/projects', { name: 'Quiet' })
  await calm.get(`/tasks/${calmTask}`)
  const held = Array.from({ length: 40 }, () => busy.get(`/projects/${id}/events?after=1&wait=20`))
  const many = Array.from({ length: 40 }, () => busy.post('/events/read', { after: { [id]: 1 }, wait: 20 }))
  expect((await busy.get(`/tasks/${busyTask}`)).status).toBe(200)
  await make(busy, '/tasks', { title: 'News', projectId: id })
  expect((await Promise.all(held)).map(({ body }) => body.length)).toEqual(Array(40).fill(1))
  expect(await Promise.all(many.map(async (one) => (await one).status))).toEqual(Array(40).fill(200))
})

test('rejections are counted for their account, or for none when it is not known', async () => {
  const pace = spyOn(service.services.rejections, 'delay')
  try {
    await busy.post('/tasks', { title: 7 })
    await busy.get('/nothing')
    await client.as('no token').get('/projects')
    expect(pace.mock.calls.map(([, { status }, accountId]) => [status, accountId])).toEqual([
      [400, busy.id],
      [404, undefined],
      [401, undefined],
    ])
  } finally {
    pace.mockRestore()
  }
})
