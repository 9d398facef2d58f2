import { eventually, make, makeProjects, Random, upTo } from '../kit.ts'
import { openStandbyScene } from './standby-scene.ts'

const scene = await openStandbyScene()
const { ada, replicas, counts, health, caughtUp } = scene
const [first, second] = replicas as [(typeof replicas)[0], (typeof replicas)[0]]
const readsEach = 150

/** A task whose title is a number. Each write increments it; `acknowledged` is the last number with a response. */
interface Counted {
  projectId: string
  taskId: string
  sent: number
  acknowledged: number
}

const pathsOf = ({ projectId, taskId }: Counted) => [
  `/tasks/${taskId}`,
  `/tasks?projectId=${projectId}`,
  `/tasks?projectId=${projectId}&limit=${1 + random.below(150)}`,
  `/tasks/${taskId}/history?limit=1`,
  `/projects/${projectId}/history?limit=1`,
  `/search?projectId=${projectId}&q=title`,
]
const random = new Random(7)

async function startWriters() {
  const projectIds = await makeProjects(ada, 12)
  const tasks = await Promise.all(
    projectIds.map(async (projectId): Promise<Counted> => {
      const { id: taskId } = await make(ada, '/tasks', { projectId, title: 'title 0' })
      return { projectId, taskId, sent: 0, acknowledged: 0 }
    }),
  )
  let going = true
  // The last projects are not written, so the standbys serve them.
  const writers = tasks.slice(0, -4).map(async (task) => {
    while (going) {
      const { status } = await ada.patch(`/tasks/${task.taskId}`, { title: `title ${++task.sent}` })
      expect(status).toBe(200)
      task.acknowledged = task.sent
    }
  })
  return {
    tasks,
    async stop() {
      going = false
      await Promise.all(writers)
    },
  }
}

/** Reads pages until `readsEach` are read, and checks that no page is older than the last acknowledged write. */
async function readAll(tasks: Counted[]) {
  let left = readsEach
  const reader = async () => {
    while (left-- > 0) {
      const task = random.pick(tasks)!
      const path = random.pick(pathsOf(task))!
      const { acknowledged } = task
      const { status, text } = await ada.get(path)
      // An event also shows the title before.
      const shown = Math.max(...Array.from(text.matchAll(/title (\d+)/g), ([, number]) => Number(number)))
      const isRight = status === 200 && shown >= acknowledged && shown <= task.sent
      if (!isRight)
        throw new Error(`${path}: ${status} shows ${shown} after ${acknowledged}: ${text.slice(0, 200)}`)
    }
  }
  await Promise.all(upTo(8).map(reader))
}

test('no page is stale beside writes while standbys are paused, late, killed and promoted', async () => {
  const { tasks, stop } = await startWriters()
  await caughtUp()
  const faults: Record<string, () => Promise<unknown>> = {
    none: async () => {},
    paused: first.pause,
    'paused both': second.pause,
    resumed: () => Promise.all([first.resume(), second.resume()]),
    frozen: async () => second.signal('SIGSTOP'),
    unfrozen: async () => second.signal('SIGCONT'),
    'cancelled queries': () =>
      first.run(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'docket'`),
    late: async () => {
      await second.run(`alter system set recovery_min_apply_delay = '5s'`)
      await second.run('select pg_reload_conf()')
    },
    killed: first.kill,
    'killed and late': async () => {},
    restarted: first.start,
    promoted: second.promote,
    'with other rows': () => second.run(`update tasks set title = 'title 999999'`),
    'both killed': () => Promise.all([first.kill(), second.kill()]),
  }
  for (const inject of Object.values(faults)) {
    await inject()
    await readAll(tasks)
  }
  await stop()
  const { standby, behind, failed } = counts()
  expect([standby > 0, behind > 0, failed > 0]).toEqual([true, true, true])
  await eventually('both away', async () => String((await health()).standbys) === 'away,away')
  expect((await health()).status).toBe('ok')
})
