import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import { freePort } from './port.ts'
import { type Cluster, clusterPassword, databaseName, openCluster } from './postgres-cluster.ts'
import { accepts, end, launch, logTail, worksIn } from './process.ts'
import { until } from './wait.ts'
import type { Starting } from './say.ts'

const attempts = 5
// Long, because a server that crashed replays its log first.
const readyTimeoutMs = 120_000
const stopTimeoutMs = 10_000
const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '250',
  shared_buffers: '256MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
}

interface Running {
  pid: number
  port: number
}

/** Starts the Postgres of `dataDir`, or attaches to it when it runs, and answers the URL of its database. */
export async function startPostgres(dataDir: string, others: boolean, starting: Starting): Promise<string> {
  const dir = join(dataDir, 'postgres')
  const { log, signal } = starting
  let url = await attach(dir, signal)
  if (url === undefined) {
    const cluster = await openCluster(dataDir, starting)
    // Postgres itself refuses to start when a stranger has the pid of a server that crashed.
    if (!others) await rm(join(dir, 'postmaster.pid'), { force: true })
    url = await start(cluster, `${dir}.log`, signal)
  }
  log(`Postgres listens on 127.0.0.1:${new URL(url).port}`)
  await createDatabase(url)
  return url
}

/** Stops the Postgres of `dataDir`, if it runs. Open transactions roll back, what is committed is kept. */
export async function stopPostgres(dataDir: string): Promise<void> {
  const dir = join(dataDir, 'postgres')
  const server = await running(dir)
  if (!server || (await end(server.pid, dir, 'SIGINT', stopTimeoutMs))) return
  throw new Error(`Postgres (pid ${server.pid}) did not stop within ${stopTimeoutMs} ms.`)
}

async function start(cluster: Cluster, logFile: string, signal: AbortSignal): Promise<string> {
  let reason = ''
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const url = await tryStart(cluster, logFile, await freePort(), signal)
    if (url !== undefined) return url
    reason = await logTail(logFile)
    // The port was taken meanwhile, or processes of a killed server still leave.
    await Bun.sleep(200 * attempt)
  }
  throw new Error(`Postgres does not start. ${reason}`)
}

async function tryStart(
  { dir, postgres, runAs }: Cluster,
  logFile: string,
  port: number,
  signal: AbortSignal,
) {
  const { prefix, uid, gid } = runAs
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const command = [...prefix, postgres, '-D', dir, '-p', String(port), ...options]
  const server = launch({ command, cwd: '/', logFile, uid, gid })
  const url = urlOf(port, await clusterPassword(dir))
  const answers = async () => (await probe(url)) === undefined
  return (await accepts(server, { dir, answers, readyTimeoutMs, stopTimeoutMs, signal })) ? url : undefined
}

async function attach(dir: string, signal: AbortSignal): Promise<string | undefined> {
  if (!(await running(dir))) return undefined
  const password = await clusterPassword(dir)
  let problem: string | undefined
  const found = await until(
    async () => {
      const server = await running(dir)
      if (!server) return null
      problem = await probe(urlOf(server.port, password))
      return problem === undefined ? server : undefined
    },
    readyTimeoutMs,
    { signal },
  )
  if (found === undefined)
    throw new Error(`Postgres runs but does not answer: ${problem}. ${await logTail(`${dir}.log`)}`)
  return found ? urlOf(found.port, password) : undefined
}

async function running(dir: string): Promise<Running | undefined> {
  const lines = await readFile(join(dir, 'postmaster.pid'), 'utf8').catch(() => '')
  const [pid, , , port] = lines.split('\n').map(Number)
  return pid && port && (await worksIn(pid, dir)) ? { pid, port } : undefined
}

function urlOf(port: number, password: string): string {
  return `postgres://${databaseName}:${password}@127.0.0.1:${port}/${databaseName}`
}

async function probe(url: string): Promise<string | undefined> {
  return asAdmin(url, (sql) => sql`select 1`).then(
    () => undefined,
    (error: Error) => error.message,
  )
}

async function createDatabase(url: string): Promise<void> {
  await asAdmin(url, async (sql) => {
    const found = await sql`select 1 from pg_database where datname = ${databaseName}`
    if (found.length === 0) await sql`create database ${sql(databaseName)}`
  })
}

async function asAdmin<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { database: 'postgres', max: 1, connect_timeout: 5, fetch_types: false })
  return work(sql).finally(() => sql.end({ timeout: 1 }))
}
