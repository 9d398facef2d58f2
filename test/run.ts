import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { migrate } from '../drizzle/migrate.ts'
import { type Local, startLocal } from '../src/local/start.ts'
import { readSummary } from './support/summary.ts'

const parallelFiles = 2
const testTimeoutMs = 120_000
const template = 'docket_template'
/** Where Debian has the servers that tests start, and not every user looks. */
const servers = '/usr/sbin'

let tests: ChildProcess | undefined
let isInterrupted = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt)
process.exit(await main(process.argv.slice(2)))

/** Runs the tests on a Postgres and a Redis of their own; ends with the line `N passed, N failed`. */
async function main(args: string[]): Promise<number> {
  const dataDir = await mkdtemp(join(tmpdir(), 'docket-test-'))
  let local: Local | undefined
  let result = { passed: 0, failed: 1 }
  try {
    local = await startLocal({ dataDir, postgres: true, redis: true, log: logSlow })
    const databaseUrl = withDatabase(local.databaseUrl, 'postgres')
    await prepareTemplate(databaseUrl)
    const env = { TEST_DATABASE_URL: databaseUrl, TEST_REDIS_URL: local.redisUrl, TEST_DATA_DIR: dataDir }
    if (!isInterrupted) result = await runTests(args, env)
  } catch (error) {
    console.error(error)
  }
  await local?.stop().catch(console.error)
  await rm(dataDir, { recursive: true, force: true, maxRetries: 3 }).catch(console.error)
  process.stdout.write(`${result.passed} passed, ${result.failed} failed\n`)
  if (isInterrupted) return 130
  return result.failed > 0 || result.passed === 0 ? 1 : 0
}

async function runTests(args: string[], env: Record<string, string | undefined>) {
  // --no-orphans: servers that a failed test left behind end with the run.
  const limits = [`--timeout=${testTimeoutMs}`, `--parallel=${parallelFiles}`]
  const command = ['test', '--no-env-file', '--no-orphans', ...limits, ...args]
  const colour = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}
  const child = spawn(process.execPath, command, {
    env: { ...process.env, PATH: `${process.env.PATH}:${servers}`, ...colour, ...env },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  tests = child
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    process.stderr.write(chunk)
    output = (output + chunk.toString()).slice(-65_536)
  })
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return readSummary(output, exitCode)
}

async function prepareTemplate(adminUrl: string): Promise<void> {
  const sql = postgres(adminUrl, { max: 1, fetch_types: false, onnotice: () => {} })
  try {
    await sql`create database ${sql(template)}`
    // Each line of the log says in whose database it was.
    await sql`alter system set log_line_prefix = '%m [%p] %q%d '`
    await sql`select pg_reload_conf()`
    await migrate(withDatabase(adminUrl, template))
    // Copying a database fails while anybody is connected to it.
    await sql`alter database ${sql(template)} with is_template true allow_connections false`
  } finally {
    await sql.end({ timeout: 5 })
  }
}

function withDatabase(databaseUrl: string | undefined, name: string): string {
  const url = new URL(databaseUrl ?? '')
  url.pathname = name
  return url.href
}

function logSlow(message: string): void {
  if (message.startsWith('Redis is missing')) console.error(message)
}

// bun test ends its tests on SIGTERM at once; what follows it cleans up.
function interrupt(): void {
  isInterrupted = true
  tests?.kill('SIGTERM')
}
