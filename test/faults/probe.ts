import { outcomeOf } from './history.ts'
import { aboutNewProject, aboutTask, type Plan, plan } from './plan.ts'
import type { RecordingClient } from './load.ts'
import type { ProjectRef, World } from './load.ts'

const everyMs = 20
const timeoutMs = 1_000
const requiredInARow = 10
const maxWaitMs = 30_000

/** A project and a task that are requested from one web process only, so that this process holds the lease. */
interface Target {
  web: number
  project: Pick<ProjectRef, 'id' | 'owner'>
  taskId: string
}

interface Sample {
  start: number
  end: number
  successes: boolean[]
}

export type Probe = Awaited<ReturnType<typeof openProbe>>

export async function openProbe(client: RecordingClient, world: World) {
  const openOne = (_: unknown, web: number) => openTarget(client, world, web)
  const targets = await Promise.all(Array.from({ length: client.webs }, openOne))

  async function send({ request }: Plan, web: number, timeout = timeoutMs): Promise<boolean> {
    const operation = await client.send(request, { web, tries: 1, timeoutMs: timeout })
    return outcomeOf(operation) === 'done'
  }
  function write({ project, taskId, web: own }: Target, web = own, timeout?: number): Promise<boolean> {
    const about = aboutTask({ id: taskId })
    const body = { title: world.tag('probe') }
    return send(plan('task.patch', `PATCH /tasks/${taskId}`, project.owner, about, { body }), web, timeout)
  }
  function read({ project, taskId, web }: Target): Promise<boolean> {
    return send(plan('task.get', `GET /tasks/${taskId}`, project.owner, aboutTask({ id: taskId })), web)
  }
  function watch() {
    const samples: Sample[] = []
    let isRunning = true
    const sample = async () => {
      const start = performance.now()
      const at = samples.push({ start, end: Infinity, successes: [] }) - 1
      const successes = await Promise.all(targets.flatMap((one) => [write(one), read(one)]))
      samples[at] = { start, end: performance.now(), successes }
    }
    const pending: Promise<void>[] = []
    const timer = setInterval(() => void (isRunning && pending.push(sample())), everyMs)
    return {
      recovered: (began: number, repaired: number) => recoveryOf(samples, began, repaired),
      async stop() {
        isRunning = false
        clearInterval(timer)
        await Promise.all(pending)
      },
    }
  }
  return {
    watch,
    /** Writes at `web` to a project whose lease the process `from` has, so that `web` gets the lease. */
    takeOver: (from: number, web: number) => write(targets[from]!, web, maxWaitMs),
  }
}

/**
 * Returns the time of full recovery: the end of the first sample after the last failed sample, or `began` if no sample
 * failed; undefined after 30 s.
 */
async function recoveryOf(samples: Sample[], began: number, repaired: number): Promise<number | undefined> {
  const deadline = performance.now() + maxWaitMs
  const isSuccess = ({ successes }: Sample) => successes.length > 0 && successes.every(Boolean)
  while (performance.now() < deadline) {
    await Bun.sleep(everyMs)
    const since = samples.filter(({ end }) => end >= began)
    const firstPending = since.findIndex(({ end }) => end === Infinity)
    const done = firstPending < 0 ? since : since.slice(0, firstPending)
    const lastFailed = done.findLastIndex((sample) => !isSuccess(sample))
    const row = done.slice(lastFailed + 1)
    if (row.filter(({ start }) => start >= repaired).length >= requiredInARow)
      return lastFailed < 0 ? began : row[0]!.end
  }
  return undefined
}

async function openTarget(client: RecordingClient, world: World, web: number): Promise<Target> {
  const owner = world.users[web % world.users.length]!
  const create = async ({ request }: Plan) => {
    const { text } = await client.send(request, { web, tries: 5, timeoutMs: 10_000 })
    return (JSON.parse(text) as { id: string }).id
  }
  const name = { body: { name: world.tag('probed') } }
  const id = await create(plan('project.create', 'POST /projects', owner, aboutNewProject, name))
  const about = { entity: 'task' as const, id: '', projectId: id }
  const body = { title: world.tag('probed'), projectId: id }
  const taskId = await create(plan('task.create', 'POST /tasks', owner, about, { body }))
  return { web, taskId, project: { id, owner } }
}
