import type { Caller } from './caller.ts'
import { outcomeOf } from './history.ts'
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
    const about = { entity: 'task' as const, id: taskId, taskId }
    const to = { method: 'PATCH' as const, path: `/tasks/${taskId}`, caller: project.owner, body, about }
    const operation = await this.caller.perform({ kind: 'task.patch', ...to }, { web, tries: 1, timeoutMs })
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
    const about = { entity: 'task' as const, id: spot.taskId, taskId: spot.taskId }
    const read = { kind: 'task.get', method: 'GET' as const, path: `/tasks/${spot.taskId}`, about }
    const once = { web: spot.web, tries: 1, timeoutMs: patienceMs }
    const [wrote, seen] = await Promise.all([
      this.write(spot, spot.web),
      this.caller.perform({ ...read, caller: spot.project.owner }, once),
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
      const make = async (kind: string, path: string, body: Record<string, unknown>, projectId?: string) => {
        const about = { entity: projectId ? ('task' as const) : ('project' as const), id: '', projectId }
        const request = { kind, method: 'POST' as const, path, caller: owner, body, about }
        return (JSON.parse((await caller.perform(request, manner)).text) as { id: string }).id
      }
      const id = await make('project.create', '/projects', { name: world.tag('probed') })
      const taskId = await make('task.create', '/tasks', { title: world.tag('probed'), projectId: id }, id)
      return { web, taskId, project: { id, owner, lasts: true, members: [], tasks: [], recent: [] } }
    }),
  )
  return new Probe(caller, world, spots)
}
