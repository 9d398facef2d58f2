import type { Caller } from './caller.ts'
import { outcomeOf } from './history.ts'
import { aboutTask, type Plan, plan } from './plan.ts'
import type { KnownProject, World } from './world.ts'

const everyMs = 20
const patienceMs = 1_000
const inARow = 10
const mostWaitMs = 30_000

/** A project and a task that only one of the web processes is asked about, so that it holds the lease. */
interface Spot {
  web: number
  project: KnownProject
  taskId: string
}

interface Beat {
  start: number
  end: number
  fine: boolean[]
}

/** How the service does, seen by a write and a read on each web every 20 ms. */
export interface Watch {
  /** When service was full again: the end of the first beat after the last bad one; `began` without any bad one. */
  recovered(began: number, healed: number): Promise<number | undefined>
  stop(): Promise<void>
}

export class Probe {
  constructor(
    private readonly caller: Caller,
    private readonly world: World,
    private readonly spots: Spot[],
  ) {}

  /** Writes to the spot of one web at any web. True when it was acknowledged in time. */
  async write({ project, taskId }: Spot, web: number, timeoutMs = patienceMs): Promise<boolean> {
    const body = { title: this.world.tag('probe') }
    const { owner } = project
    const { request } = plan('task.patch', `PATCH /tasks/${taskId}`, owner, aboutTask({ id: taskId }), {
      body,
    })
    const operation = await this.caller.perform(request, { web, tries: 1, timeoutMs })
    return outcomeOf(operation) === 'done'
  }

  /** Asks `web` to write what another web holds; the time until it did. */
  async takeOver(of: number, web: number): Promise<number | undefined> {
    const began = performance.now()
    const spot = this.spots.find((known) => known.web === of)!
    return (await this.write(spot, web, mostWaitMs)) ? performance.now() - began : undefined
  }

  watch(): Watch {
    const beats: Beat[] = []
    let going = true
    const beat = async () => {
      const start = performance.now()
      const at = beats.push({ start, end: Infinity, fine: [] }) - 1
      const fine = await Promise.all(this.spots.map((spot) => this.touch(spot)))
      beats[at] = { start, end: performance.now(), fine }
    }
    const under: Promise<void>[] = []
    const timer = setInterval(() => void (going && under.push(beat())), everyMs)
    return {
      recovered: (began, healed) => recoveryOf(beats, began, healed),
      async stop() {
        going = false
        clearInterval(timer)
        await Promise.all(under)
      },
    }
  }

  private async touch(spot: Spot): Promise<boolean> {
    const about = aboutTask({ id: spot.taskId })
    const { request } = plan('task.get', `GET /tasks/${spot.taskId}`, spot.project.owner, about)
    const [wrote, seen] = await Promise.all([
      this.write(spot, spot.web),
      this.caller.perform(request, { web: spot.web, tries: 1, timeoutMs: patienceMs }),
    ])
    return wrote && outcomeOf(seen) === 'done'
  }
}

/** Waits until ten beats in a row are fine, with none before them still under way. */
async function recoveryOf(beats: Beat[], began: number, healed: number): Promise<number | undefined> {
  const deadline = performance.now() + mostWaitMs
  const isFine = ({ fine }: Beat) => fine.length > 0 && fine.every(Boolean)
  while (performance.now() < deadline) {
    await Bun.sleep(everyMs)
    const since = beats.filter(({ end }) => end >= began)
    const open = since.findIndex(({ end }) => end === Infinity)
    const done = open < 0 ? since : since.slice(0, open)
    const lastBad = done.findLastIndex((beat) => !isFine(beat))
    const row = done.slice(lastBad + 1)
    const after = row.filter(({ start }) => start >= healed)
    if (after.length >= inARow) return lastBad < 0 ? began : row[0]!.end
  }
  return undefined
}

export async function openProbe(caller: Caller, world: World): Promise<Probe> {
  const spots = await Promise.all(
    Array.from({ length: caller.webs }, async (_, web) => {
      const owner = world.users[web % world.users.length]!
      const manner = { web, tries: 5, timeoutMs: 10_000 }
      const made = async ({ request }: Plan) =>
        (JSON.parse((await caller.perform(request, manner)).text) as { id: string }).id
      const name = { body: { name: world.tag('probed') } }
      const about = { entity: 'project' as const, id: '' }
      const id = await made(plan('project.create', 'POST /projects', owner, about, name))
      const inProject = { entity: 'task' as const, id: '', projectId: id }
      const task = { title: world.tag('probed'), projectId: id }
      const taskId = await made(plan('task.create', 'POST /tasks', owner, inProject, { body: task }))
      return { web, taskId, project: { id, owner, lasts: true, members: [], tasks: [], recent: [] } }
    }),
  )
  return new Probe(caller, world, spots)
}
