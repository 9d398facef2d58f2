import { openLoad } from './load.ts'
import { type Bench, parts, type Probe, times, whole } from './probe.ts'
import { seed } from './seed.ts'
import { type MeasuredRun, measureRun, mediansOf, scenarios } from './throughput.ts'
import { median, sum } from './usage.ts'

const counts = [1, 2, 4]
/** Shards are placed again when membership has not changed for this time. */
const calmMs = 14_000
// The first warm-up is for each process, because each process reads each task once.
const warmUpSeconds = { first: 8, later: 1 }

/** A load with its scenario, and its connections with one web process and for each further one. */
const loads: [title: string, scenario: string, first: number, further: number][] = [
  ['create, all projects', 'create', 256, 0],
  ['create, few clients', 'create', 16, 0],
  ['create, clients growing', 'create', 64, 64],
  ['create, one project', 'create-hot', 256, 0],
  ['patch, all projects', 'patch', 256, 0],
  ['get task', 'get', 64, 0],
  ['list 20 tasks', 'list', 64, 0],
  ['mix of a tracker', 'mix', 64, 0],
  ['mix, clients growing', 'mix', 64, 64],
]

type Side = Awaited<ReturnType<typeof openSide>>

const openSide = async ({ servers }: Bench, count: number) => {
  const set = await servers.beside(count)
  return { count, ...set, world: await seed(set.url) }
}

/** The cost of a request with one, two and four web processes behind one address. */
export const scaling: Probe = {
  name: 'scaling',
  async measure(bench) {
    const sides = await Promise.all(counts.map((count) => openSide(bench, count)))
    await Bun.sleep(calmMs)
    const all: Awaited<ReturnType<typeof measureLoad>>[] = []
    for (const load of loads) all.push(await measureLoad(bench, load, sides))
    await Promise.all(sides.map(({ end }) => end()))
    const columns = counts.slice(1).flatMap((webs) => [`${webs} web: CPU`, 'rate'])
    const head = ['cost of a request', '1 web: CPU µs', 'web · Postgres · Redis', ...columns]
    return {
      table: { head, rows: all.map(({ row }) => row) },
      figures: all.map(({ row, measured }) => ({ load: row[0], measured })),
      failures: all.flatMap(({ measured }) => measured.flat().flatMap(({ errors }) => errors)),
    }
  },
}

async function measureLoad(
  { servers, rounds, seconds }: Bench,
  [title, name, first, further]: (typeof loads)[number],
  sides: Side[],
) {
  const scenario = scenarios.find((one) => one.name === name)!
  const opened = await Promise.all(
    sides.map(async ({ url, count, world }) =>
      openLoad(servers, await scenario.plan(world), { url, connections: first + further * (count - 1) }),
    ),
  )
  const measured: MeasuredRun[][] = sides.map(() => [])
  for (let round = 0; round < rounds; round++)
    for (const [n, load] of opened.entries()) {
      await load(round ? warmUpSeconds.later : warmUpSeconds.first * sides[n]!.count)
      measured[n]!.push(await measureRun(servers, () => load(seconds), sides[n]!.pids))
    }
  const [alone = [], ...others] = measured
  const ratio = (runs: MeasuredRun[], of: (run: MeasuredRun) => number) =>
    times(median(runs.map((run, round) => of(run) / of(alone[round]!))))
  const beside = others.flatMap((runs) => [
    ratio(runs, (run) => sum(run.cpu)),
    ratio(runs, (run) => run.perSecond),
  ])
  const { cpu } = mediansOf(alone)
  return { row: [title, whole(sum(cpu)), parts(cpu), ...beside], measured }
}
