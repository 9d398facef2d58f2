import { storePlan } from './http-load.ts'
import type { Bench } from './measure.ts'
import { scenarios } from './scenarios.ts'
import { seed, type World } from './seed.ts'
import type { WebSet } from './servers.ts'
import { type Cpu, type MeasuredRun, medians, ratio, measureRun } from './measured-run.ts'

const counts = [1, 2, 4] as const
/** Shards are placed again when membership has not changed for this time. */
const calmMs = 14_000
// The warm-up is long, because each process looks up the project of each task once.
const warmUpSeconds = { first: 8, later: 1 }

/** The cost of a request with several web processes behind one address. */
interface ScalingFigures {
  webs: number
  connections: number
  figures: MeasuredRun | undefined
  /** Ratios of processor time and throughput to those with one process: medians of the rounds. */
  ratio: number | undefined
  throughput: number | undefined
}

export interface ScalingRow {
  title: string
  spent: ScalingFigures[]
}

interface Load {
  scenario: string
  title: string
  connections(webs: number): number
}

const load = (scenario: string, title: string, connections: Load['connections']): Load => ({
  ...{ scenario, title, connections },
})
const loads = [
  load('create-spread', 'create, all projects', () => 256),
  load('patch-spread', 'patch, all projects', () => 256),
  load('create-hot', 'create, one hot project', () => 256),
  load('mix', 'mix of a tracker', () => 64),
  load('get-task', 'get task', () => 64),
  load('get-project', 'get project', () => 64),
  load('list', 'list 20 tasks', () => 64),
  load('create-spread', 'create, all projects, few clients', () => 16),
  load('create-spread', 'create, all projects, clients growing', (webs) => 64 * webs),
]

interface Side {
  set: WebSet
  world: World
}

export async function measureScaling(bench: Bench): Promise<ScalingRow[]> {
  const sets = await Promise.all(counts.map((count) => bench.servers.beside(count)))
  const sides = await Promise.all(sets.map(async (set) => ({ set, world: await seed(set.url) })))
  await Bun.sleep(calmMs)
  const scaled: ScalingRow[] = []
  for (const load of loads) scaled.push(await measureLoad(bench, load, sides))
  await Promise.all(sets.map(({ end }) => end()))
  return scaled
}

async function measureLoad(bench: Bench, load: Load, sides: Side[]): Promise<ScalingRow> {
  const { options } = bench
  const runs = await Promise.all(sides.map((side, i) => openRun(bench, load, side, counts[i]!)))
  const measured: MeasuredRun[][] = sides.map(() => [])
  for (let round = 0; round < options.rounds; round++) {
    for (const [i, { set }] of sides.entries()) {
      await runs[i]!(warmUpSeconds[round ? 'later' : 'first'])
      const pids = { ...bench.servers.pids, web: () => set.pids }
      measured[i]!.push(await measureRun({ pids }, () => runs[i]!(options.seconds)))
    }
  }
  const spent = counts.map((webs, i) => ({
    ...{ webs, connections: load.connections(webs), figures: medians(measured[i]!) },
    ratio: ratio(measured[i]!, measured[0]!, ({ cpu }) => sum(cpu)),
    throughput: ratio(measured[i]!, measured[0]!),
  }))
  return { title: load.title, spent }
}

async function openRun({ servers, loader }: Bench, load: Load, { set, world }: Side, webs: number) {
  const scenario = scenarios.find(({ name }) => name === load.scenario)!
  const plan = await storePlan(servers.folder, `${scenario.name}-on-${webs}`, await scenario.plan(world))
  const connections = load.connections(webs)
  return (seconds: number) => loader.run({ url: set.url, plan, connections, seconds })
}

/** The processor time of a request in all processes, in microseconds. */
export const sum = ({ web = 0, postgres = 0, redis = 0 }: Cpu): number => web + postgres + redis
