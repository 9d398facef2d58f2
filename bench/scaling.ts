import { runLoad, storePlan } from './load.ts'
import { type Bench, type Findings, parts, type Probe, times, whole } from './probe.ts'
import { seed, type World } from './seed.ts'
import type { WebSet } from './servers.ts'
import { type MeasuredRun, measureRun, mediansOf, scenarios } from './throughput.ts'
import { median, sum } from './usage.ts'

const counts = [1, 2, 4]
/** Shards are placed again when membership has not changed for this time. */
const calmMs = 14_000
// The warm-up is long, because each process looks up the project of each task once.
const warmUpSeconds = { first: 8, later: 1 }

/** `connections`: with one web process, and for each further one. */
const loads = [
  { scenario: 'create', title: 'create, all projects', connections: [256, 0] },
  { scenario: 'create', title: 'create, few clients', connections: [16, 0] },
  { scenario: 'create', title: 'create, clients growing', connections: [64, 64] },
  { scenario: 'create-hot', title: 'create, one project', connections: [256, 0] },
  { scenario: 'patch', title: 'patch, all projects', connections: [256, 0] },
  { scenario: 'get', title: 'get task', connections: [64, 0] },
  { scenario: 'list', title: 'list 20 tasks', connections: [64, 0] },
  { scenario: 'mix', title: 'mix of a tracker', connections: [64, 0] },
]
type Load = (typeof loads)[number]

interface Side {
  set: WebSet
  world: World
}

/** The cost of a request with one, two and four web processes behind one address. */
export const scaling: Probe = {
  name: 'scaling',
  async measure(bench) {
    const sets = await Promise.all(counts.map((count) => bench.servers.beside(count)))
    const sides = await Promise.all(sets.map(async (set) => ({ set, world: await seed(set.url) })))
    await Bun.sleep(calmMs)
    const all: Awaited<ReturnType<typeof measureLoad>>[] = []
    for (const load of loads) all.push(await measureLoad(bench, load, sides))
    await Promise.all(sets.map(({ end }) => end()))
    const columns = counts.slice(1).flatMap((webs) => [`${webs} web: CPU`, 'rate'])
    return {
      table: {
        head: ['cost of a request', '1 web: CPU µs', 'web · Postgres · Redis', ...columns],
        rows: all.map(({ row }) => row),
      },
      figures: all.map(({ row, measured }) => ({ load: row[0], measured })),
      failures: all.flatMap(({ measured }) => measured.flat().flatMap(({ errors }) => errors)),
    } satisfies Findings
  },
}

async function measureLoad({ servers, rounds, seconds }: Bench, load: Load, sides: Side[]) {
  const scenario = scenarios.find(({ name }) => name === load.scenario)!
  const [first = 0, further = 0] = load.connections
  const runs = await Promise.all(
    sides.map(async ({ set: { url }, world }, n) => {
      const plan = await storePlan(servers.folder, `scaling-${n}`, await scenario.plan(world))
      const connections = first + further * (counts[n]! - 1)
      return (seconds: number) => runLoad({ url, plan, connections, seconds })
    }),
  )
  const measured: MeasuredRun[][] = sides.map(() => [])
  for (let round = 0; round < rounds; round++)
    for (const [n, { set }] of sides.entries()) {
      await runs[n]!(warmUpSeconds[round ? 'later' : 'first'])
      measured[n]!.push(await measureRun(servers, () => runs[n]!(seconds), set.pids))
    }
  const ratio = (n: number, of: (run: MeasuredRun) => number) =>
    times(median(measured[n]!.map((run, round) => of(run) / of(measured[0]![round]!))))
  const { cpu } = mediansOf(measured[0]!)
  const beside = counts
    .slice(1)
    .flatMap((_, n) => [ratio(n + 1, (run) => sum(run.cpu)), ratio(n + 1, (run) => run.perSecond)])
  return { row: [load.title, whole(sum(cpu)), parts(cpu), ...beside], measured }
}
