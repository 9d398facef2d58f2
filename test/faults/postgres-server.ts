import { join } from 'node:path'
import postgres from 'postgres'
import { clusterPassword, databaseName, openCluster } from '../../src/local/postgres-cluster.ts'
import { freePort } from '../../src/local/port.ts'
import { end, launch, logTail } from '../../src/local/process.ts'
import { until } from '../../src/local/wait.ts'

const readyTimeoutMs = 60_000
const stopTimeoutMs = 15_000
const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '64MB',
}

/** A Postgres of a run's own: it may be torn down without a word and comes back at the same URL with its data. */
export interface PostgresServer {
  url: string
  start(): Promise<void>
  /** As `pg_ctl stop -m immediate` does: nothing is written down, the next start recovers from the log. */
  stopImmediately(): Promise<void>
  stop(): Promise<void>
  /** Runs something over a connection of its own. */
  ask<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T>
}

export async function openPostgres(dataDir: string): Promise<PostgresServer> {
  const { dir, postgres: program, runAs } = await openCluster(dataDir, () => {})
  const port = await freePort()
  const url = `postgres://${databaseName}:${await clusterPassword(dir)}@127.0.0.1:${port}/${databaseName}`
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const command = [...runAs.prefix, program, '-D', dir, '-p', String(port), ...options]
  const logFile = join(dataDir, 'postgres.log')
  let pid = 0

  const tryStart = async () => {
    const server = launch({ command, cwd: '/', logFile, uid: runAs.uid, gid: runAs.gid })
    pid = server.pid
    const accepts = () => ask(url, 'postgres', (sql) => sql`select 1`).then(...yesOrNo)
    return until(async () => (server.ended() ? false : (await accepts()) || undefined), readyTimeoutMs, 20)
  }
  const start = async () => {
    // Processes of the one that was torn down may still hold its memory.
    const started = await until(async () => (await tryStart()) || undefined, readyTimeoutMs, 100)
    if (!started) throw new Error(`Postgres does not start. ${await logTail(logFile)}`)
  }
  await start()
  await ask(url, 'postgres', async (sql) => void (await sql`create database ${sql(databaseName)}`))
  return {
    url,
    start,
    stopImmediately: async () => void (await end(pid, dir, 'SIGQUIT', stopTimeoutMs)),
    stop: async () => {
      if (!(await end(pid, dir, 'SIGINT', stopTimeoutMs))) await end(pid, dir, 'SIGQUIT', stopTimeoutMs)
    },
    ask: (work) => ask(url, databaseName, work),
  }
}

function ask<T>(url: string, database: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const options = { database, max: 1, connect_timeout: 2, fetch_types: false, onnotice: () => {} }
  const sql = postgres(url, { ...options, connection: { application_name: 'faults' } })
  return work(sql).finally(() => sql.end({ timeout: 1 }))
}

const yesOrNo = [() => true, () => false] as const
