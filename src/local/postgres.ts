import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import { type Cluster, clusterPassword, databaseName, openCluster } from './postgres-cluster.ts'
import { launch, type Launched, type Starting } from './process.ts'
import { ensureRunning, type Server } from './server.ts'

const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '250',
  shared_buffers: '256MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
}

export const postgresIn = (dir: string): Server => ({
  name: 'Postgres',
  dir,
  // With SIGINT, Postgres rolls back open transactions and stops.
  stopSignal: 'SIGINT',
  async lastStart() {
    const lines = (await readFile(join(dir, 'postmaster.pid'), 'utf8')).split('\n')
    const [pid = 0, , , port = 0] = lines.map(Number)
    return { pid: port && pid, port }
  },
  probe: async (port) => asAdmin(await urlOf(dir, port), (sql) => sql`select 1`),
})

export async function startPostgres(dataDir: string, isShared: boolean, starting: Starting): Promise<string> {
  const dir = join(dataDir, 'postgres')
  const port = await ensureRunning(postgresIn(dir), starting, async () => {
    const cluster = await openCluster(dataDir, starting)
    // If another program now has the pid of a crashed server, Postgres would refuse to start.
    if (!isShared) await rm(join(dir, 'postmaster.pid'), { force: true })
    return (port) => launchPostgres(cluster, port)
  })
  const url = await urlOf(dir, port)
  await asAdmin(url, async (sql) => {
    const databases = await sql`select 1 from pg_database where datname = ${databaseName}`
    if (databases.length === 0) await sql`create database ${sql(databaseName)}`
  })
  return url
}

function launchPostgres({ dir, postgres, runAs }: Cluster, port: number): Launched {
  const { prefix, uid, gid } = runAs
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const command = [...prefix, postgres, '-D', dir, '-p', String(port), ...options]
  return launch({ command, cwd: '/', logFile: `${dir}.log`, uid, gid })
}

async function urlOf(dir: string, port: number): Promise<string> {
  return `postgres://${databaseName}:${await clusterPassword(dir)}@127.0.0.1:${port}/${databaseName}`
}

async function asAdmin<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { database: 'postgres', max: 1, connect_timeout: 5, fetch_types: false })
  return work(sql).finally(() => sql.end({ timeout: 1 }))
}
