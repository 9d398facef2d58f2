import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { type LoadRun, openLoad, type Plan, type PlannedRequest, send, singleKind } from './load.ts'
import {
  type Bench,
  eachOf,
  type Findings,
  numbers,
  parts,
  type Probe,
  tenths,
  times,
  whole,
} from './probe.ts'
import { createOf, getTask, keyedCreateOf, listTasks, renameOf, trackerMix, type World } from './seed.ts'
import type { Servers } from './servers.ts'
import { runTool } from './tools.ts'
import { median, medians, openMeter, watchMemory } from './usage.ts'

interface Scenario {
  name: string
  title: string
  connections: number
  plan(world: World): Plan | Promise<Plan>
  /** What Postgres alone can do for a request: the scripts in `limits`, with their shares. */
  least: string[]
  usual?: string[]
  /** The number of projects to which the requests go. By default all. */
  projects?: number
  headline?(figures: Figures): string
}

const creates = {
  ...{ connections: 256, least: ['create-least'], usual: ['create-usual'] },
  plan: ({ projects }: World) => singleKind(201, projects.map(createOf)),
}
const mixedReads = ['get@65', 'list@23', 'projects@9']
const lists = { connections: 64, plan: ({ projects }: World) => singleKind(200, projects.map(listTasks)) }

export const scenarios: Scenario[] = [
  {
    ...{ ...creates, name: 'create-keyed', title: 'create task with a key, all projects' },
    plan: ({ projects }) => singleKind(201, projects.map(keyedCreateOf)),
    ...{ least: ['create-keyed-least'], usual: ['create-keyed-usual'] },
    headline: ({ perSecond, ratios: { least, usual } }) =>
      `Docket commits ${whole(perSecond)} tasks a second, each with an Idempotency-Key: ${times(least)} the rate of one ` +
      `statement for each task, ${times(usual)} the rate of a usual transaction.`,
  },
  { ...creates, name: 'create', title: 'create task, all projects' },
  {
    ...{ ...creates, name: 'create-hot', title: 'create task, one project' },
    plan: ({ projects }) => singleKind(201, [createOf(projects[0]!)]),
    projects: 1,
  },
  {
    ...{ name: 'patch', title: 'patch task, all projects', connections: 256 },
    plan: ({ tasks }) => singleKind(200, tasks.map(renameOf)),
    ...{ least: ['patch-least'], usual: ['patch-usual'] },
  },
  {
    ...{ name: 'get', title: 'get task', connections: 64 },
    plan: ({ tasks }) => singleKind(200, tasks.map(getTask)),
    least: ['get'],
    headline: ({ perSecond, p99Ms }) =>
      `It answers ${whole(perSecond)} reads of a task a second, with a p99 of ${tenths(p99Ms)} ms.`,
  },
  { ...lists, name: 'list', title: 'list 20 tasks', least: ['list'] },
  {
    ...{ ...lists, name: 'list-304', title: 'list 20 tasks, If-None-Match' },
    plan: async ({ url, projects }) =>
      singleKind(304, await eachOf(projects, (project) => ifChanged(url, listTasks(project)))),
    // Without versions, a service must read the list to know that it is unchanged.
    ...{ least: ['version'], usual: ['list'] },
  },
  {
    ...{ name: 'mix', title: 'mix of a tracker', connections: 64 },
    plan: trackerMix,
    ...{ least: [...mixedReads, 'create-least@3'], usual: [...mixedReads, 'create-usual@3'] },
  },
]

export const throughput: Probe[] = scenarios.map((scenario) => ({
  name: scenario.name,
  measure: (bench) => measureScenario(bench, scenario),
}))

/** Adds the version of the response to the request, so that the list is unchanged. */
async function ifChanged(url: string, request: PlannedRequest): Promise<PlannedRequest> {
  const { headers } = await send(url, request)
  return { ...request, headers: { 'if-none-match': headers.get('etag') ?? '' } }
}

/** Medians of the rounds. `cpu`: microseconds of a request by process. */
interface Figures extends Pick<LoadRun, 'perSecond' | 'p50Ms' | 'p99Ms'> {
  cpu: Record<string, number>
  memoryMiB: number
  /** The rate as a multiple of that of Postgres alone: the median of the rounds. */
  ratios: { least: number; usual?: number }
}

// The warm-up is long, because a new process loads projects and fills its caches.
const warmUpSeconds = { first: 5, later: 1, choice: 1 }
const tableHead = [
  ...['scenario', 'connections', 'req/s', 'to one statement', 'to a transaction'],
  ...['p50 ms', 'p99 ms', 'CPU µs: web · Postgres · Redis'],
]

async function measureScenario(
  { servers, world, rounds, seconds }: Bench,
  scenario: Scenario,
): Promise<Findings> {
  const { title, connections } = scenario
  // A checkpoint now, so that none falls into one side only.
  await servers.sql`checkpoint`
  const load = await openLoad(servers, await scenario.plan(world), { connections })
  const { least, usual, projects = world.projects.length } = scenario
  const sizes = ['-D', `projects=${projects}`, '-D', `tasks=${world.tasks.length}`]
  const scripts = [least, ...(usual ? [usual] : [])]
  const limits = await Promise.all(scripts.map((one) => openLimit(servers, one, sizes, connections)))
  const runs = await Array.fromAsync(numbers(rounds), async (round) => {
    await load(warmUpSeconds[round ? 'later' : 'first'])
    const run = await measureRun(servers, () => load(seconds))
    return { run, limits: await Array.fromAsync(limits, (limit) => limit(seconds)) }
  })
  const ratio = (n: number) => median(runs.map(({ run, limits }) => run.perSecond / limits[n]!))
  const ratios = { least: ratio(0), ...(limits.length > 1 && { usual: ratio(1) }) }
  const figures: Figures = { ...mediansOf(runs.map(({ run }) => run)), ratios }
  const { perSecond, p50Ms, p99Ms, cpu } = figures
  const rates = [whole(perSecond), times(ratios.least), times(ratios.usual)]
  const row = [title, String(connections), ...rates, tenths(p50Ms), tenths(p99Ms), parts(cpu)]
  return {
    headline: scenario.headline?.(figures),
    table: { head: tableHead, rows: [row] },
    bar: { title, ratio: ratios.least },
    figures: { ...figures, runs },
    failures: runs.flatMap(({ run }) => run.errors),
  }
}

const clientChoices = [4, 16, 64]

/** Returns a function that runs pgbench with the number of clients with which Postgres does most, and returns the rate a second. */
async function openLimit({ databaseUrl }: Servers, scripts: string[], sizes: string[], connections: number) {
  const folder = join(import.meta.dirname, 'limits')
  const files = scripts.flatMap((one) => ['-f', join(folder, one.replace(/@|$/, '.sql$&'))])
  const runWith = (clients: number) => async (seconds: number) => {
    const threads = Math.min(availableParallelism(), clients)
    const size = [`-c${clients}`, `-j${threads}`, `-T${limitWarmUpSeconds + seconds + 1}`]
    const command = ['pgbench', '-M', 'prepared', '-n', '-P1', ...size, ...sizes, ...files, databaseUrl]
    return rateOf(await runTool(command, { PGOPTIONS: limitSettings }))
  }
  let best = { clients: 1, perSecond: 0 }
  for (const clients of clientChoices.filter((choice) => choice <= connections)) {
    const perSecond = await runWith(clients)(warmUpSeconds.choice)
    if (perSecond > best.perSecond) best = { clients, perSecond }
  }
  return runWith(best.clients)
}

/** The first seconds do not count, because pgbench connects in them. The progress may lack the last second. */
const limitWarmUpSeconds = 2
/** Generic plans from the start, as after the first executions. */
const limitSettings = '-c plan_cache_mode=force_generic_plan -c jit=off'

function rateOf({ stdout, stderr: progress }: Record<'stdout' | 'stderr', string>): number {
  const seconds = [...progress.matchAll(/^progress: ([\d.]+) s, ([\d.]+) tps/gm)]
    .filter(([, at]) => Math.round(Number(at)) > limitWarmUpSeconds)
    .map(([, , tps]) => Number(tps))
  if (/number of failed transactions: [1-9]/.test(stdout) || seconds.length === 0)
    throw new Error('Transactions of pgbench failed')
  return seconds.reduce((sum, tps) => sum + tps, 0) / seconds.length
}

export type MeasuredRun = LoadRun & Pick<Figures, 'cpu' | 'memoryMiB'>

/** @param web the web processes that the load uses */
export async function measureRun(
  { pids }: Servers,
  load: () => Promise<LoadRun>,
  web = pids.web(),
): Promise<MeasuredRun> {
  const spent = openMeter({ web, postgres: pids.postgres, redis: pids.redis })
  const memory = watchMemory(web[0]!)
  const run = await load().finally(memory)
  return { ...run, cpu: spent(run.requests), memoryMiB: memory() }
}

export function mediansOf(runs: MeasuredRun[]): Omit<Figures, 'ratios'> {
  const rates = medians(
    runs.map(({ perSecond, p50Ms, p99Ms, memoryMiB }) => ({ perSecond, p50Ms, p99Ms, memoryMiB })),
  )
  return { ...(rates as Omit<Figures, 'ratios' | 'cpu'>), cpu: medians(runs.map(({ cpu }) => cpu)) }
}
