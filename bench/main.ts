import { availableParallelism, cpus, platform, release, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { claims } from './claims.ts'
import { deletion } from './deletion.ts'
import { fair } from './fair.ts'
import { feed } from './feed.ts'
import { filters } from './filters.ts'
import type { Bench, Probe } from './probe.ts'
import { markdown, readResults, type Results, writeResults } from './report.ts'
import { scaling } from './scaling.ts'
import { search } from './search.ts'
import { seed, seedLimits } from './seed.ts'
import { type Closers, type Servers, startServers } from './servers.ts'
import { singleClient } from './single-client.ts'
import { throughput } from './throughput.ts'
import { endTools, requireTools, versionOf } from './tools.ts'
import { transfer } from './transfer.ts'
import { webhooks } from './webhooks.ts'

const probes: Probe[] = [
  ...throughput,
  ...[singleClient, search, transfer, feed, webhooks, deletion, scaling, filters, claims, fair],
]
const names = probes.map(({ name }) => name)
const usage = `npm run bench -- [--only create,search,…] [--rounds 3] [--seconds 5] [--quick] [--out bench]
--only runs the probes whose names begin so: ${names.join(', ')}
--quick is for a look: 1 round of 2 s, written to bench/out`

process.exit(await main(process.argv.slice(2)))

async function main(args: string[]): Promise<number> {
  const options = readOptions(args)
  if (!options) {
    console.error(usage)
    return 2
  }
  requireTools()
  const closers: Closers = []
  const { stop, isInterrupted } = stopOnSignal(closers)
  const results = await run(options, closers, isInterrupted).finally(stop)
  if (isInterrupted()) return 130
  await writeResults(options.out, results)
  console.log(`\n${markdown(results)}\nWritten to ${options.out}/results.{json,md,svg}`)
  return Object.values(results).some(({ failures }) => failures?.length) ? 1 : 0
}

/** Returns undefined for an unknown option, number or probe. */
function readOptions(args: string[]) {
  const text = { type: 'string' } as const
  try {
    const { values } = parseArgs({
      args,
      options: { only: text, rounds: text, seconds: text, out: text, quick: { type: 'boolean' } },
    })
    const { quick = false, only = '', out = quick ? 'bench/out' : 'bench' } = values
    const starts = only.split(',')
    const wanted = probes.filter(({ name }) => starts.some((start) => name.startsWith(start)))
    const [rounds, seconds] = [
      Number(values.rounds ?? (quick ? 1 : 3)),
      Number(values.seconds ?? (quick ? 2 : 5)),
    ]
    return wanted.length > 0 && rounds >= 1 && seconds >= 1 ? { wanted, rounds, seconds, out } : undefined
  } catch {
    return undefined
  }
}

/** Stops everything, also after Ctrl-C. */
function stopOnSignal(closers: Closers) {
  let interrupted = false
  const stop = async () => {
    endTools()
    for (const closer of closers.splice(0))
      await closer().catch((error) => void (interrupted || console.error(error)))
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (interrupted) return
      interrupted = true
      // Errors during the shutdown are expected, and must not end the shutdown.
      process.on('uncaughtException', () => {})
      void stop().finally(() => process.exit(130))
    })
  return { stop, isInterrupted: () => interrupted }
}

type Options = NonNullable<ReturnType<typeof readOptions>>

async function run(
  { wanted, rounds, seconds, out }: Options,
  closers: Closers,
  isInterrupted: () => boolean,
): Promise<Results> {
  log('starting and seeding')
  const servers = await startServers(closers)
  await servers.web(1)
  const world = await seed(servers.url)
  await seedLimits(servers.sql, world)
  await servers.sql`vacuum analyze`
  const bench: Bench = { servers, world, rounds, seconds }
  const machine = await describeMachine(servers)
  const results = await readResults(out, names)
  for (const { name, measure } of wanted) {
    if (isInterrupted()) break
    log(name)
    const measuredAt = new Date().toISOString()
    const findings = await measure(bench).catch((error: Error) => ({
      figures: {},
      failures: [error.message],
    }))
    results[name] = { measuredAt, rounds, seconds, machine, ...findings }
  }
  return Object.fromEntries(names.flatMap((name) => (results[name] ? [[name, results[name]]] : [])))
}

async function describeMachine({ sql, redisUrl }: Servers): Promise<string> {
  const [row] = await sql<{ version: string; commit: string; fsync: string }[]>`
    select current_setting('server_version') as version, current_setting('synchronous_commit') as commit,
      current_setting('fsync') as fsync`
  const redis = new Redis(redisUrl)
  const info = await redis.info('server').finally(() => redis.disconnect())
  const tools = [await versionOf('wrk', '-v'), await versionOf('pgbench', '--version')]
  return (
    `${availableParallelism()} cores of ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${release()}; ` +
    `Bun ${Bun.version}, Postgres ${row!.version} (synchronous_commit ${row!.commit}, fsync ${row!.fsync}), ` +
    `Redis ${/redis_version:(\S+)/.exec(info)?.[1]}; ${tools.join(', ')}; all on this machine`
  )
}

function log(what: string): void {
  process.stderr.write(`${new Date().toTimeString().slice(0, 8)} ${what}\n`)
}
