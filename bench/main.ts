import { measureClaims } from './claims.ts'
import { measureDeletion } from './deletion.ts'
import { measureFair, openFair } from './fair.ts'
import { measureFeed } from './feed.ts'
import { measureFilters } from './filters.ts'
import { floods } from './floods.ts'
import { openLoader } from './http-load.ts'
import { openLimiter } from './limit.ts'
import { measureSingleClient } from './single-client.ts'
import { measureImport } from './import.ts'
import { describeMachine } from './machine.ts'
import { type Bench, measure } from './measure.ts'
import { type Options, readOptions, usage } from './options.ts'
import { measureOverload } from './overload.ts'
import { residentMiB } from './process-usage.ts'
import { markdown } from './report.ts'
import { failuresOf, type Results, writeResults } from './results.ts'
import { measureScaling } from './scaling.ts'
import { scenarios } from './scenarios.ts'
import { measureSearch } from './search.ts'
import { seed, seedLimit } from './seed.ts'
import { type Closers, type Servers, startServers } from './servers.ts'
import { endTools } from './tool.ts'
import { measureWebhooks } from './webhooks.ts'

const idleAfterMs = 2_000

process.exit(await main(process.argv.slice(2)))

async function main(args: string[]): Promise<number> {
  let options: Options
  try {
    options = readOptions(args)
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage}`)
    return 2
  }
  const closers: Closers = []
  const { stop, isInterrupted } = stopOnSignal(closers)
  const results = await startServers(closers)
    .then((servers) => run(options, servers, closers, isInterrupted))
    .catch((error: Error) => error)
    .finally(stop)
  if (isInterrupted()) return 130
  if (results instanceof Error) throw results
  await writeResults(options.out, results)
  console.log(`\n${markdown(results)}\nWritten to ${options.out}/results.{json,md,svg}`)
  return failuresOf(results).length > 0 ? 1 : 0
}

/** Stops everything, also after Ctrl-C. */
function stopOnSignal(closers: Closers) {
  let interrupted = false
  let stopping: Promise<void> | undefined
  const close = async () => {
    endTools()
    for (const closer of closers.splice(0))
      await closer().catch((error) => void (interrupted || console.error(error)))
  }
  const stop = () => (stopping ??= close())
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (interrupted) return
      interrupted = true
      // Errors during the shutdown are expected, and must not end the shutdown.
      process.on('uncaughtException', () => {})
      void stop().finally(() => process.exit(130))
    })
  }
  return { stop, isInterrupted: () => interrupted }
}

async function run(
  options: Options,
  servers: Servers,
  closers: Closers,
  isInterrupted: () => boolean,
): Promise<Results> {
  log('starting and seeding')
  await servers.web(1)
  await Bun.sleep(idleAfterMs)
  const idleMiB = residentMiB(servers.pids.web()[0]!)
  const world = await seed(servers.url)
  await seedLimit(servers.sql, world)
  const peer = options.peer ? await seed(options.peer) : undefined
  await servers.sql`vacuum analyze`
  const limiter = await openLimiter(servers.databaseUrl, servers.folder)
  const bench: Bench = { options, servers, limiter, loader: await openLoader(), world, peer }
  const { rounds, seconds } = options
  const results: Results = {
    ...{ measuredAt: new Date().toISOString(), rounds, seconds, idleMiB },
    ...{ machine: await describeMachine(bench), scenarios: [], failures: [] },
  }
  await measureAll(bench, results, closers, isInterrupted)
  return results
}

async function measureAll(
  bench: Bench,
  results: Results,
  closers: Closers,
  isInterrupted: () => boolean,
): Promise<void> {
  const { only } = bench.options
  const names = scenarios.map(({ name }) => name)
  const isWanted = (name: string) =>
    !only.length || only.some((it) => name === it || (!names.includes(it) && name.startsWith(it)))
  const attempt = async (name: string, work: () => Promise<void>) => {
    if (isInterrupted() || !isWanted(name)) return
    log(name)
    await work().catch((error: Error) => void results.failures.push(`${name}: ${error.message}`))
  }
  for (const scenario of scenarios)
    await attempt(scenario.name, async () => void results.scenarios.push(await measure(bench, scenario)))
  await attempt('lone', async () => void (results.lone = await measureSingleClient(bench)))
  await attempt('deletion', async () => void (results.deletion = await measureDeletion(bench)))
  await attempt('scaling', async () => void (results.scaling = await measureScaling(bench)))
  // Takes a minute more, so it runs only on request.
  if (only.length > 0) {
    await attempt('overload', async () => void (results.overload = await measureOverload(bench)))
    await attempt('filters', async () => void (results.filters = await measureFilters(bench)))
    await attempt('search', async () => void (results.search = await measureSearch(bench)))
    await attempt('import', async () => void (results.import = await measureImport(bench)))
    await attempt('claims', async () => void (results.claims = await measureClaims(bench)))
    await attempt('feed', async () => void (results.feed = await measureFeed(bench)))
    const fair = lazily(() => openFair(bench.servers, closers))
    for (const flood of floods)
      await attempt(`fair-${flood.name}`, async () => {
        results.fair = [
          ...(results.fair ?? []),
          ...(await measureFair(await fair(), flood, bench.options.seconds)),
        ]
      })
    await attempt('webhooks', async () => void (results.webhooks = await measureWebhooks(bench)))
  }
}

function log(what: string): void {
  process.stderr.write(`${new Date().toTimeString().slice(0, 8)} ${what}\n`)
}

function lazily<T>(open: () => T): () => T {
  let opened: T | undefined
  return () => (opened ??= open())
}
