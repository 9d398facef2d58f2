import { availableParallelism, cpus, platform, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { fair } from './fair.ts'
import { feed } from './feed.ts'
import { claims, deletion, singleClient } from './latency.ts'
import type { Bench, Probe } from './probe.ts'
import { markdown, readResults, type Results, writeResults } from './report.ts'
import { scaling } from './scaling.ts'
import { filters, search } from './search.ts'
import { seed } from './seed.ts'
import { type Closers, type Servers, startServers } from './servers.ts'
import { throughput } from './throughput.ts'
import { requireTools, versionOf } from './tools.ts'
import { transfer } from './transfer.ts'
import { webhooks } from './webhooks.ts'

const probes: Probe[] = [
  ...throughput,
  // Filters are measured before the search, which adds tasks to their data.
  ...[singleClient, filters, search, transfer, feed, webhooks, deletion, scaling, claims, fair],
]
const names = probes.map(({ name }) => name)
const usage = `npm run bench -- [--only create,search,…] [--rounds 3] [--seconds 5] [--quick] [--out bench]
--only runs the probes whose names begin so: ${names.join(', ')}
--quick runs 1 round of 2 s, and writes to bench/out`

const closers: Closers = []
let isInterrupted = false
let stopping: Promise<void> | undefined
const stop = () => (stopping ??= closeAll())
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt)
process.exit(await main(process.argv.slice(2)))

async function main(args: string[]): Promise<number> {
  const options = readOptions(args)
  if (!options) {
    console.error(usage)
    return 2
  }
  await requireTools()
  const results = await run(options).finally(stop)
  if (isInterrupted) return 130
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
    const { quick, only = '', out = quick ? 'bench/out' : 'bench' } = values
    const starts = only.split(',')
    const wanted = probes.filter(({ name }) => starts.some((start) => name.startsWith(start)))
    const rounds = Number(values.rounds ?? (quick ? 1 : 3))
    const seconds = Number(values.seconds ?? (quick ? 2 : 5))
    return wanted.length > 0 && rounds >= 1 && seconds >= 1 ? { wanted, rounds, seconds, out } : undefined
  } catch {
    return undefined
  }
}

async function closeAll(): Promise<void> {
  for (const closer of closers) await closer().catch((error) => void (isInterrupted || console.error(error)))
}

function interrupt(): void {
  if (isInterrupted) return
  isInterrupted = true
  // Errors during the shutdown are expected, and must not end the shutdown.
  process.on('uncaughtException', () => {})
  void stop().finally(() => process.exit(130))
}

async function run({ wanted, rounds, seconds, out }: NonNullable<ReturnType<typeof readOptions>>) {
  log('starting and seeding')
  const servers = await startServers(closers)
  await servers.web(1)
  const world = await seed(servers.url)
  await servers.sql.file(join(import.meta.dirname, 'data/limits.sql'))
  await servers.sql`vacuum analyze`
  const bench: Bench = { servers, closers, world, rounds, seconds }
  const machine = await describeMachine(servers)
  const results = await readResults(out, names)
  for (const { name, measure } of wanted) {
    if (isInterrupted) break
    log(name)
    const measuredAt = new Date().toISOString()
    await servers.web(1)
    const failure = (error: Error) => ({ figures: {}, failures: [error.message] })
    const findings = await measure(bench).catch(failure)
    results[name] = { measuredAt, rounds, seconds, machine, ...findings }
  }
  const inOrder = names.flatMap((name) => (results[name] ? [[name, results[name]]] : []))
  return Object.fromEntries(inOrder) as Results
}

async function describeMachine({ sql, redisUrl }: Servers): Promise<string> {
  const [row] = await sql<{ text: string }[]>`select format('%s (synchronous_commit %s, fsync %s)',
    current_setting('server_version'), current_setting('synchronous_commit'), current_setting('fsync')) as text`
  const redis = new Redis(redisUrl)
  const info = await redis.info('server').finally(() => redis.disconnect())
  const size = `${availableParallelism()} cores of ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB`
  return (
    `${size}, ${platform()} ${release()}; Bun ${Bun.version}, Postgres ${row!.text}, ` +
    `Redis ${/redis_version:(\S+)/.exec(info)?.[1]}; ${versionOf('wrk', '-v')}, ${versionOf('pgbench', '--version')}; ` +
    'all on this machine'
  )
}

function log(what: string): void {
  process.stderr.write(`${new Date().toTimeString().slice(0, 8)} ${what}\n`)
}
