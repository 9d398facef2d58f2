import { storePlan } from './http-load.ts'
import type { Bench } from './measure.ts'
import { median } from './median.ts'
import { type Scenario, scenarios } from './scenarios.ts'
import { type Cpu, type Measured, medians, watched } from './watch.ts'

const counts = [1, 2, 4] as const
/** Homes are shared out anew when nobody came or went for so long. */
const calmMs = 14_000
const warmUpSeconds = 2

/** What a request costs with so many web processes behind one address. */
interface Spent {
  webs: number
  connections: number
  figures: Measured | undefined
  /** Processor time beside that with one process: the median of the rounds. */
  ratio: number | undefined
}

export interface Scaled {
  title: string
  spent: Spent[]
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
  load('create-spread', 'create, all projects, few clients', () => 16),
  load('create-spread', 'create, all projects, clients growing', (webs) => 64 * webs),
]

/** The same load on one, two and four web processes in turns: what each further process adds to a request. */
export async function measureScaling(bench: Bench): Promise<Scaled[]> {
  const { servers, options } = bench
  const sets = await Promise.all(counts.map((count) => servers.beside(count)))
  await Bun.sleep(calmMs)
  const scaled: Scaled[] = []
  for (const { scenario: name, title, connections } of loads) {
    const scenario = scenarios.find((one) => one.name === name)!
    const plan = await planOf(bench, scenario)
    const runs: Measured[][] = sets.map(() => [])
    for (let round = 0; round < options.rounds; round++) {
      for (const [i, { url, pids }] of sets.entries()) {
        const run = (seconds: number) =>
          bench.loader.run({ url, plan, connections: connections(counts[i]!), seconds })
        await run(warmUpSeconds)
        runs[i]!.push(
          await watched({ pids: { ...servers.pids, web: () => pids } }, () => run(options.seconds)),
        )
      }
    }
    const spent = counts.map((webs, i) => ({
      ...{ webs, connections: connections(webs), figures: medians(runs[i]!) },
      ratio: median(runs[i]!.map(({ cpu }, round) => sum(cpu) / sum(runs[0]![round]!.cpu))),
    }))
    scaled.push({ title, spent })
  }
  await Promise.all(sets.map(({ end }) => end()))
  return scaled
}

const planOf = async ({ servers, world }: Bench, scenario: Scenario) =>
  storePlan(servers.folder, `${scenario.name}-scaling`, await scenario.plan(world))

/** All that a request took, in microseconds. */
export const sum = ({ web = 0, postgres = 0, redis = 0 }: Cpu): number => web + postgres + redis
