import { makeProjects, openScene, sampleOf, upTo } from '../kit.ts'
import { createMany, task } from './scene.ts'

const { service, busy, calm } = await openScene(['Busy', 'Calm'], {})
// Otherwise, on a slow machine, the process may stop counting as shared, and the slots of slow requests may be freed.
service.services.scheduler.isShared = () => true
Object.assign(service.services.scheduler, { freeStuck: () => {} })
const [[busyProject = ''], [calmProject = '']] = [await makeProjects(busy, 1), await makeProjects(calm, 1)]
await createMany(busy, busyProject, 400, 'Draw the plate')
const calmTask = await task(calm, calmProject, 'Oil the wheels')
// The first search of an account indexes its tasks.
for (const account of [busy, calm]) await account.get('/search?q=wheels')

const flood = 300
/** The maximum number of searches of the busy account that are answered before a request of the calm account. */
const maxAhead = 200
const searches = ['/search?types=task&q=plate%20', '/tasks?q=plate%20', '/search?q=plaet']

test.each([`/tasks/${calmTask}`, '/search?q=wheels', '/tasks?q=wheels'].map((path, n) => [path, n] as const))(
  'many searches of one account do not delay a request of another account: %s',
  async (path, n) => {
    for (const search of sampleOf(searches, n)) {
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
  },
)
