import { outcomeOf } from './history.ts'
import { aboutTask, type Plan, plan } from './plan.ts'
import type { RecordingClient } from './recording-client.ts'
import type { ProjectRef, World } from './world.ts'

const everyMs = 20
const timeoutMs = 1_000
const requiredInARow = 10
const maxWaitMs = 30_000

/** A project and a task that are requested from one web process only, so that this process holds the lease. */
interface Target {
  web: number
  project: ProjectRef
  taskId: string
}

interface Sample {
  start: number
  end: number
  successes: boolean[]
}

export interface Watch {
  /**
   * Returns the time of full recovery: the end of the first sample after the last failed sample, or `began` if no
   * sample failed; undefined after 30 s.
   */
  recovered(began: number, repaired: number): Promise<number | undefined>
  stop(): Promise<void>
}

export class Probe {
  constructor(
    private readonly client: RecordingClient,
    private readonly world: World,
    private readonly targets: Target[],
  ) {}

  /** Writes at `web` to a project whose lease the process `from` has, so that `web` gets the lease. */
  async takeOver(from: number, web: number): Promise<void> {
    await this.write(
      this.targets.find((one) => one.web === from)!,
      web,
      maxWaitMs,
    )
  }

  watch(): Watch {
    const samples: Sample[] = []
    let isRunning = true
    const sample = async () => {
      const start = performance.now()
      const at = samples.push({ start, end: Infinity, successes: [] }) - 1
      const successes = await Promise.all(this.targets.flatMap((one) => [this.write(one), this.read(one)]))
      samples[at] = { start, end: performance.now(), successes }
    }
    const pending: Promise<void>[] = []
    const timer = setInterval(() => void (isRunning && pending.push(sample())), everyMs)
    return {
      recovered: (began, repaired) => recoveryOf(samples, began, repaired),
      async stop() {
        isRunning = false
        clearInterval(timer)
        await Promise.all(pending)
      },
    }
  }

  private write({ project, taskId, web: own }: Target, web = own, timeout = timeoutMs): Promise<boolean> {
    const body = { title: this.world.tag('probe') }
    const about = aboutTask({ id: taskId })
    return this.send(
      plan('task.patch', `PATCH /tasks/${taskId}`, project.owner, about, { body }),
      web,
      timeout,
    )
  }

  private read({ project, taskId, web }: Target): Promise<boolean> {
    const about = aboutTask({ id: taskId })
    return this.send(plan('task.get', `GET /tasks/${taskId}`, project.owner, about), web, timeoutMs)
  }

  private async send({ request }: Plan, web: number, timeout: number): Promise<boolean> {
    const operation = await this.client.send(request, { web, tries: 1, timeoutMs: timeout })
    return outcomeOf(operation) === 'done'
  }
}

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

export async function openProbe(client: RecordingClient, world: World): Promise<Probe> {
  const openTarget = async (_: unknown, web: number): Promise<Target> => {
    const owner = world.users[web % world.users.length]!
    const create = async ({ request }: Plan) => {
      const { text } = await client.send(request, { web, tries: 5, timeoutMs: 10_000 })
      return (JSON.parse(text) as { id: string }).id
    }
    const name = { body: { name: world.tag('probed') } }
    const id = await create(
      plan('project.create', 'POST /projects', owner, { entity: 'project', id: '' }, name),
    )
    const about = { entity: 'task' as const, id: '', projectId: id }
    const body = { title: world.tag('probed'), projectId: id }
    const taskId = await create(plan('task.create', 'POST /tasks', owner, about, { body }))
    return { web, taskId, project: { id, owner, isPermanent: true, members: [], tasks: [], recent: [] } }
  }
  return new Probe(client, world, await Promise.all(Array.from({ length: client.webs }, openTarget)))
}
