import { type Loader, type LoadRun, storePlan } from './http-load.ts'
import type { Limiter, LimitRun } from './limit.ts'
import type { Options } from './options.ts'
import type { Scenario } from './scenarios.ts'
import type { World } from './seed.ts'
import type { Servers } from './servers.ts'
import type { LimitScript } from './sql-loop.ts'
import { type MeasuredRun, medians, ratio, measureRun } from './measured-run.ts'

export interface Bench {
  options: Options
  servers: Servers
  loader: Loader
  limiter: Limiter
  world: World
  peer?: World
}

const limits = ['least', 'usual'] as const
const sides = ['service', ...limits, 'peer'] as const
type Limit = (typeof limits)[number]
type Side = (typeof sides)[number]

/** The result of a scenario: medians of the rounds without errors; undefined for a side without such a round. */
export interface Row extends Pick<Scenario, 'name' | 'title' | 'connections'> {
  /** The number of database connections with the best result, for each limit. */
  clients: Partial<Record<Limit, number>>
  figures: Partial<Record<Side, MeasuredRun>>
  /** The ratio of service to limit: the median of the rounds, each of which measures both. */
  ratios: Partial<Record<Side, number>>
  /** Why rounds were not used. */
  failures: string[]
}

type Run = (seconds: number) => Promise<LoadRun | LimitRun>

// The warm-up is long, because a new process loads projects and fills its caches.
const warmUpSeconds = { first: 5, later: 1, choice: 1 }
const clientChoices = [4, 16, 64, 150] // Postgres accepts 200

export async function measure(bench: Bench, scenario: Scenario): Promise<Row> {
  const { servers, world, options } = bench
  const { name, title, connections } = scenario
  await servers.web(1)
  // A checkpoint now, so that none falls into one side only.
  await servers.sql`checkpoint`
  const clients: Row['clients'] = {}
  for (const limit of limits) {
    const scripts = scenario[limit]?.(world)
    if (scripts) clients[limit] = await bestClients(bench, scripts, connections)
  }
  const runs = await openRuns(bench, scenario, clients)
  const results: Record<Side, MeasuredRun[]> = { service: [], least: [], usual: [], peer: [] }
  for (let round = 0; round < options.rounds; round++) {
    for (const side of sides) {
      const run = runs[side]
      if (!run) continue
      if (side === 'service' || side === 'peer') await run(warmUpSeconds[round ? 'later' : 'first'])
      results[side].push(await measureRun(servers, () => run(options.seconds)))
    }
  }
  const figures = Object.fromEntries(sides.map((side) => [side, medians(results[side])]))
  const ratios = Object.fromEntries(sides.map((side) => [side, ratio(results.service, results[side])]))
  const failures = sides.flatMap((side) =>
    results[side].flatMap(({ errors }) => errors.map((error) => `${side}: ${error}`)),
  )
  return { name, title, connections, clients, figures, ratios, failures }
}

async function openRuns(bench: Bench, scenario: Scenario, clients: Row['clients']) {
  const { loader, limiter, servers, world, peer } = bench
  const load = async (side: Side, world: World): Promise<Run> => {
    const plan = await storePlan(servers.folder, `${scenario.name}-${side}`, await scenario.plan(world))
    return (seconds) => loader.run({ url: world.url, plan, connections: scenario.connections, seconds })
  }
  const limit = (which: Limit): Run | undefined => {
    const scripts = scenario[which]?.(world)
    return scripts && ((seconds) => limiter.run(scripts, clients[which]!, seconds))
  }
  const runs: Partial<Record<Side, Run>> = {
    service: await load('service', world),
    least: limit('least'),
    usual: limit('usual'),
    ...(peer && scenario.common && { peer: await load('peer', peer) }),
  }
  return runs
}

/** Returns the number of clients with which the database does most. */
async function bestClients(bench: Bench, scripts: LimitScript[], connections: number): Promise<number> {
  let best = { clients: 1, perSecond: 0 }
  for (const clients of clientChoices.filter((choice) => choice <= connections)) {
    const { perSecond } = await bench.limiter.run(scripts, clients, warmUpSeconds.choice)
    if (perSecond > best.perSecond) best = { clients, perSecond }
  }
  return best.clients
}
