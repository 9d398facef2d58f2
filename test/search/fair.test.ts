import { expect, test } from 'bun:test'
import { type Client, make } from '../support/client.ts'
import { sampleOf } from '../support/depth.ts'
import { openScene } from '../support/scene.ts'

const { busy, calm } = await openScene(['Busy', 'Calm'])
const [busyTask, calmTask] = [await taskOf(busy), await taskOf(calm)]

async function taskOf(owner: Client): Promise<string> {
  const { id: projectId } = await make(owner, '/projects', { name: 'P' })
  const operations = Array.from({ length: 400 }, (_, n) => ({
    op: 'task.create',
    title: `Draw the plate ${n}`,
  }))
  await owner.post(`/projects/${projectId}/batch`, { operations })
  return (await make(owner, '/tasks', { title: 'Oil the wheels', projectId })).id
}

const flood = 300
/** How many searches of the busy account may be answered before a request of the calm account. */
const maxAhead = 200

async function expectFair(search: (n: number) => string, calmPath: string): Promise<void> {
  await calm.get(`/tasks/${calmTask}`)
  let answered = 0
  const all = Array.from({ length: flood }, async (_, n) => {
    const { status } = await busy.get(search(n))
    answered++
    return status
  })
  expect((await calm.get(calmPath)).status).toBe(200)
  const before = answered
  expect([...new Set(await Promise.all(all))].filter((status) => ![200, 429].includes(status))).toEqual([])
  expect(before).toBeLessThan(maxAhead)
  expect((await busy.get(`/tasks/${busyTask}`)).status).toBe(200)
}

// The first search of an account indexes its tasks.
for (const account of [busy, calm]) await account.get('/search?q=wheels')

const searches = [
  (n: number) => `/search?q=plate%20${n}&types=task`,
  (n: number) => `/tasks?q=plate%20${n}`,
  (n: number) => `/search?q=plaet${n}`,
]
const calmRequests = [
  ['a read', `/tasks/${calmTask}`],
  ['a search', '/search?q=wheels'],
  ['a list', '/tasks?q=wheels'],
] as const

for (const [at, [what, path]] of calmRequests.entries())
  test(`many searches of one account do not delay ${what} of another account`, async () => {
    for (const search of sampleOf(searches, at)) await expectFair(search, path)
  })
