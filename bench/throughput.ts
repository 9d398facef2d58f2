import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createLimits, type LimitScript, patchLimits, readLimits as reads } from './limits.ts'
import { type LoadRun, type Plan, type PlannedRequest, runLoad, singleKind, storePlan } from './load.ts'
import { type Bench, eachOf, type Findings, parts, type Probe, tenths, times, whole } from './probe.ts'
import { createOf, getTask, keyedCreateOf, listTasks, renameOf, trackerMix, type World } from './seed.ts'
import type { Servers } from './servers.ts'
import { runTool } from './tools.ts'
import { median, openMeter, watchMemory } from './usage.ts'

interface Scenario {
  name: string
  title: string
  connections: number
  plan(world: World): Plan | Promise<Plan>
  least(world: World): LimitScript[]
  usual?(world: World): LimitScript[]
  headline?(figures: Figures): string
}

const alone = (text: string): LimitScript[] => [{ share: 1, text }]
const creates = (count: (world: World) => number, isKeyed = false) => ({
  least: (world: World) => alone(createLimits(count(world), isKeyed).least),
  usual: (world: World) => alone(createLimits(count(world), isKeyed).usual),
})
const mixed = ({ projects: { length }, tasks }: World, create: string): LimitScript[] => [
  { share: 65, text: reads.task(tasks.length) },
  { share: 23, text: reads.tasks(length) },
  { share: 9, text: reads.projects(length) },
  { share: 3, text: create },
]

export const scenarios: Scenario[] = [
  {
    ...{ name: 'create-keyed', title: 'create task with a key, all projects', connections: 256 },
    plan: ({ projects }) => singleKind(201, projects.map(keyedCreateOf)),
    ...creates(({ projects }) => projects.length, true),
    headline: ({ perSecond, ratios: { least, usual } }) =>
      `Docket commits ${whole(perSecond)} tasks a second, each with an Idempotency-Key: ${times(least)} the rate of one ` +
      `statement for each task, ${times(usual)} the rate of a usual transaction.`,
  },
  {
    ...{ name: 'create', title: 'create task, all projects', connections: 256 },
    plan: ({ projects }) => singleKind(201, projects.map(createOf)),
    ...creates(({ projects }) => projects.length),
  },
  {
    ...{ name: 'create-hot', title: 'create task, one project', connections: 256 },
    plan: ({ projects }) => singleKind(201, [createOf(projects[0]!)]),
    ...creates(() => 1),
  },
  {
    ...{ name: 'patch', title: 'patch task, all projects', connections: 256 },
    plan: ({ tasks }) => singleKind(200, tasks.map(renameOf)),
    least: ({ tasks }) => alone(patchLimits(tasks.length).least),
    usual: ({ tasks }) => alone(patchLimits(tasks.length).usual),
  },
  {
    ...{ name: 'get', title: 'get task', connections: 64 },
    plan: ({ tasks }) => singleKind(200, tasks.map(getTask)),
    least: ({ tasks }) => alone(reads.task(tasks.length)),
    headline: ({ perSecond, p99Ms }) =>
      `It answers ${whole(perSecond)} reads of a task a second, with a p99 of ${tenths(p99Ms)} ms.`,
  },
  {
    ...{ name: 'list', title: 'list 20 tasks', connections: 64 },
    plan: ({ projects }) => singleKind(200, projects.map(listTasks)),
    least: ({ projects }) => alone(reads.tasks(projects.length)),
  },
  {
    ...{ name: 'list-304', title: 'list 20 tasks, If-None-Match', connections: 64 },
    plan: async ({ url, projects }) =>
      singleKind(304, await eachOf(projects, (project) => unchanged(url, listTasks(project)))),
    least: ({ projects }) => alone(reads.version(projects.length)),
    // Without versions, a service must read the list to know that it is unchanged.
    usual: ({ projects }) => alone(reads.tasks(projects.length)),
  },
  {
    ...{ name: 'mix', title: 'mix of a tracker', connections: 64 },
    plan: trackerMix,
    least: (world) => mixed(world, createLimits(world.projects.length).least),
    usual: (world) => mixed(world, createLimits(world.projects.length).usual),
  },
]

export const throughput: Probe[] = scenarios.map((scenario) => ({
  name: scenario.name,
  measure: (bench) => measureScenario(bench, scenario),
}))

async function unchanged(url: string, request: PlannedRequest): Promise<PlannedRequest> {
  const headers = { authorization: `Bearer ${request.token}` }
  const answer = await fetch(`${url}/api/v1${request.path}`, { headers })
  await answer.text()
  return { ...request, headers: { 'if-none-match': answer.headers.get('etag') ?? '' } }
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

async function measureScenario(
  { servers, world, rounds, seconds }: Bench,
  scenario: Scenario,
): Promise<Findings> {
  const { name, title, connections } = scenario
  await servers.web(1)
  // A checkpoint now, so that none falls into one side only.
  await servers.sql`checkpoint`
  const plan = await storePlan(servers.folder, name, await scenario.plan(world))
  const load = (seconds: number) => runLoad({ url: servers.url, plan, connections, seconds })
  const limits = await Promise.all([
    openLimit(servers, scenario.least(world), connections),
    ...(scenario.usual ? [openLimit(servers, scenario.usual(world), connections)] : []),
  ])
  const runs: { run: MeasuredRun; limits: number[] }[] = []
  for (let round = 0; round < rounds; round++) {
    await load(warmUpSeconds[round ? 'later' : 'first'])
    const run = await measureRun(servers, () => load(seconds))
    const rates: number[] = []
    for (const limit of limits) rates.push(await limit(seconds))
    runs.push({ run, limits: rates })
  }
  const ratio = (n: number) => median(runs.map(({ run, limits }) => run.perSecond / limits[n]!))
  const ratios = { least: ratio(0), ...(limits.length > 1 && { usual: ratio(1) }) }
  const figures: Figures = { ...mediansOf(runs.map(({ run }) => run)), ratios }
  const { perSecond, p50Ms, p99Ms, cpu } = figures
  const columns = [
    'to one statement',
    'to a transaction',
    'p50 ms',
    'p99 ms',
    'CPU µs: web · Postgres · Redis',
  ]
  return {
    headline: scenario.headline?.(figures),
    table: {
      head: ['scenario', 'connections', 'req/s', ...columns],
      rows: [
        [title, String(connections), whole(perSecond), times(ratios.least), times(ratios.usual)].concat(
          tenths(p50Ms),
          tenths(p99Ms),
          parts(cpu),
        ),
      ],
    },
    bar: { title, ratio: ratios.least },
    figures: { ...figures, runs },
    failures: runs.flatMap(({ run }) => run.errors),
  }
}

const clientChoices = [4, 16, 64]

/** Returns a function that runs pgbench with the number of clients with which Postgres does most, and returns the rate a second. */
async function openLimit({ folder, databaseUrl }: Servers, scripts: LimitScript[], connections: number) {
  const files = await Promise.all(
    scripts.map(async ({ share, text }) => {
      const file = join(folder, `${crypto.randomUUID()}.sql`)
      await writeFile(file, text)
      return ['-f', `${file}@${share}`]
    }),
  )
  const runWith = (clients: number) => async (seconds: number) => {
    const threads = Math.min(availableParallelism(), clients)
    const size = [`-c${clients}`, `-j${threads}`, `-T${limitWarmUpSeconds + seconds + 1}`]
    const command = ['pgbench', '-M', 'prepared', '-n', '-P1', ...size, ...files.flat(), databaseUrl]
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

function rateOf({ output, errors: progress }: { output: string; errors: string }): number {
  const seconds = [...progress.matchAll(/^progress: ([\d.]+) s, ([\d.]+) tps/gm)]
    .filter(([, at]) => Math.round(Number(at)) > limitWarmUpSeconds)
    .map(([, , tps]) => Number(tps))
  if (/number of failed transactions: [1-9]/.test(output) || seconds.length === 0)
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
  const of = (pick: (run: MeasuredRun) => number) => median(runs.map(pick))
  return {
    perSecond: of((run) => run.perSecond),
    p50Ms: of((run) => run.p50Ms),
    p99Ms: of((run) => run.p99Ms),
    cpu: Object.fromEntries(Object.keys(runs[0]!.cpu).map((who) => [who, of((run) => run.cpu[who]!)])),
    memoryMiB: of((run) => run.memoryMiB),
  }
}
