import { openScene, sampleOf, upTo } from '../kit.ts'
import { project, task } from './scene.ts'

const { busy, calm } = await openScene(['Busy', 'Calm'])
const busyProject = await project(busy)
const operations = upTo(400).map((n) => ({ op: 'task.create', title: `Draw the plate ${n}` }))
await busy.post(`/projects/${busyProject}/batch`, { operations })
const calmTask = await task(calm, await project(calm), 'Oil the wheels')
// The first search of an account indexes its tasks.
for (const account of [busy, calm]) await account.get('/search?q=wheels')

const flood = 300
/** How many searches of the busy account may be answered before a request of the calm account. */
const maxAhead = 200

const searches = ['/search?types=task&q=plate%20', '/tasks?q=plate%20', '/search?q=plaet']
const calmRequests = { read: `/tasks/${calmTask}`, search: '/search?q=wheels', list: '/tasks?q=wheels' }

for (const [at, [what, path]] of Object.entries(calmRequests).entries())
  test(`many searches of one account do not delay a ${what} of another account`, async () => {
    for (const search of sampleOf(searches, at)) {
      await calm.get(`/tasks/${calmTask}`)
      let answered = 0
      const all = upTo(flood).map(async (n) => {
        const { status } = await busy.get(search + n)
        answered++
        return status
      })
      expect((await calm.get(path)).status).toBe(200)
      const before = answered
      expect([200, 429]).toEqual(expect.arrayContaining([...new Set(await Promise.all(all))]))
      expect(before).toBeLessThan(maxAhead)
      expect((await busy.get(`/projects/${busyProject}`)).status).toBe(200)
    }
  })
