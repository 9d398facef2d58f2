import { setTimeout as sleep } from 'node:timers/promises'
import { type LoadRun, paced, storePlan } from './http-load.ts'
import type { Bench } from './measure.ts'
import { median } from './median.ts'
import { fresh, type PlannedRequest } from './plan.ts'
import { singleKind } from './requests.ts'
import { insertSearchData, type SearchData, searchSizes } from './search-data.ts'
import { type BesideCreates, type Latencies, measureLatencies, searchUntil } from './search-latencies.ts'
import { openTexts } from './search-text.ts'
import { numbers } from './seed.ts'

export interface SearchFigures {
  /** `createsRatio` divides the rate of creates during the fill by the rate before the fill. */
  fill: { seconds: number; createsRatio: number }
  alone: Latencies
  burst: BesideCreates & {
    perSecond: number
    p99Ms: number
    /** Tasks without a document after the creates. */
    missing: number
    catchUpSeconds: number
  }
  /** The rate of creates with a worker, divided by the rate without a worker: the median of the rounds. */
  createsRatio: number
  failures: string[]
}

const burst = { seconds: 60, perSecond: 8_000, connections: 1_024 }
const createConnections = 256
const distinctCreates = 5_000
const lookEveryMs = 200
const patienceMs = 3_600_000

/** Measures the first fill, searches alone and beside creates, and the cost of the index for creates. */
export async function measureSearch(bench: Bench): Promise<SearchFigures> {
  const { servers, loader, options } = bench
  await servers.web(1)
  const data = await insertSearchData(servers.url, servers.sql)
  const plan = await storePlan(servers.folder, 'search-creates', singleKind(201, createsOf(data)))
  const run = () =>
    loader.run({ url: servers.url, plan, connections: createConnections, seconds: options.seconds })
  await run()
  const before = await repeat(options.rounds, run)
  const { seconds, during } = await servers.withWorker(() => measureFill(bench, run))
  await servers.sql`vacuum analyze`
  const searched = await servers.withWorker(async () => ({
    alone: await measureLatencies(servers.url, data),
    burst: await measureBurst(bench, data, plan),
  }))
  const pairs = await repeat(options.rounds, () => measurePair(bench, run))
  return {
    fill: { seconds, createsRatio: rateOf(during) / rateOf(before) },
    ...searched,
    createsRatio: median(pairs.map(([without, beside]) => beside.perSecond / without.perSecond)),
    failures: [
      ...[...before, ...during, ...pairs.flat()].flatMap(({ errors }) => errors),
      ...searched.alone.failures,
      ...searched.burst.failures,
    ],
  }
}

/** Creates run during the first rounds of the fill. */
async function measureFill({ servers: { sql }, options }: Bench, run: () => Promise<LoadRun>) {
  const began = performance.now()
  const during = await repeat(options.rounds, run)
  await waitFor('The first fill', () => isIndexed(sql))
  return { seconds: (performance.now() - began) / 1_000, during }
}

/** Searches while tasks are created at a steady rate, and checks that each search finds a task that was just created. */
async function measureBurst({ servers: { sql, url } }: Bench, data: SearchData, plan: string) {
  const load = paced({ url, plan, ...burst })
  const [{ perSecond, p99Ms, errors }, searches] = await Promise.all([load, searchUntil(load, url, data)])
  const ended = performance.now()
  await waitFor('The index', () => isIndexed(sql))
  const catchUpSeconds = (performance.now() - ended) / 1_000
  const [row] = await sql<{ missing: number }[]>`
    select count(*)::int4 as missing from tasks t where not exists (select from search_documents s where s.id = t.id)`
  const failures = [...errors, ...searches.failures]
  return { ...searches, failures, missing: row!.missing, perSecond, p99Ms, catchUpSeconds }
}

/** Measures creates without a worker, and with a worker that indexes them at the same time. */
async function measurePair({ servers }: Bench, run: () => Promise<LoadRun>): Promise<[LoadRun, LoadRun]> {
  const without = await run()
  return servers.withWorker(async () => {
    await waitFor('The index', () => isIndexed(servers.sql))
    return [without, await run()]
  })
}

async function isIndexed(sql: Bench['servers']['sql']): Promise<boolean> {
  const [row] = await sql<{ behind: boolean }[]>`
    select exists (select from streams s left join search_cursors c on c.project_id = s.project_id
      where (c.seq = s.version and c.event_id = s.last_event_id and c.fill is null) is not true) as behind`
  return !row!.behind
}

async function waitFor(what: string, isDone: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + patienceMs
  while (!(await isDone())) {
    if (performance.now() > until)
      throw new Error(`${what} is not complete after ${patienceMs / 60_000} minutes`)
    await sleep(lookEveryMs)
  }
}

/**
 * Creates of tasks with the words of the data, in random projects. Many accounts create tasks, because an account has at
 * most 16 requests in progress while others are active, such as those that search.
 */
function createsOf({ writers, projects }: SearchData): PlannedRequest[] {
  const { text } = openTexts()
  return numbers(distinctCreates).map((n) => {
    const words = text(searchSizes.words)
    const title = `${words.slice(0, searchSizes.titleWords).join(' ')} ${fresh}`
    const description = words.slice(searchSizes.titleWords).join(' ')
    const body = { title, description, projectId: projects[n % projects.length]! }
    return { method: 'POST', path: '/tasks', token: writers[n % writers.length]!.token!, body }
  })
}

async function repeat<T>(count: number, work: () => Promise<T>): Promise<T[]> {
  const results: T[] = []
  while (results.length < count) results.push(await work())
  return results
}

const rateOf = (runs: LoadRun[]) => median(runs.map(({ perSecond }) => perSecond))
