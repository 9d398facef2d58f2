import { execFile } from 'node:child_process'
import { appendFile, chown, mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { type Cluster, clusterPassword, databaseName, openCluster } from '../../src/local/postgres-cluster.ts'
import { freePort } from '../../src/local/port.ts'
import { end, launch, logTail } from '../../src/local/process.ts'
import { until } from '../../src/local/wait.ts'

const run = promisify(execFile)
const readyTimeoutMs = 60_000
const standbyName = 'standby'
const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '32MB',
  wal_keep_size: '512MB',
}

interface Server {
  dir: string
  port: number
  pid: number
}

export type ReplicatedPostgres = Awaited<ReturnType<typeof openReplicatedPostgres>>

/** A Postgres that writes, another that follows it as a streaming standby, and the URL that names both. */
export async function openReplicatedPostgres(dataDir: string, { synchronous }: { synchronous: boolean }) {
  await mkdir(dataDir, { recursive: true })
  const cluster = await openCluster(dataDir, () => {})
  const password = await clusterPassword(cluster.dir)
  const urlOf = (hosts: string) => `postgres://${databaseName}:${password}@${hosts}/${databaseName}`
  const [one, other] = await Promise.all([freePort(), freePort()])
  let primary: Server = { dir: cluster.dir, port: one, pid: 0 }
  let standby: Server = { dir: join(dataDir, 'second'), port: other, pid: 0 }
  const ask = <T>(server: Server, work: (sql: postgres.Sql) => Promise<T>, database: string = databaseName) =>
    asked(urlOf(`127.0.0.1:${server.port}`), database, work)
  const start = async (server: Server) => {
    server.pid = launched(cluster, server)
    const answers = () =>
      ask(server, (sql) => sql`select 1`, 'postgres').then(
        () => true,
        () => undefined,
      )
    if (await until(answers, readyTimeoutMs, 20)) return
    throw new Error(`Postgres does not start. ${await logTail(`${server.dir}.log`)}`)
  }
  /** Copies what the primary has while it works, and follows it from there. */
  const follow = async () => {
    await ask(primary, (sql) => copied(sql, primary.dir, standby.dir), 'postgres')
    const conninfo = `host=127.0.0.1 port=${primary.port} user=${databaseName} password=${password} application_name=${standbyName}`
    await appendFile(join(standby.dir, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`)
    await start(standby)
  }
  await start(primary)
  await ask(primary, async (sql) => void (await sql`create database ${sql(databaseName)}`), 'postgres')
  await follow()
  const setSynchronous = () =>
    ask(primary, async (sql) => {
      await sql.unsafe(`alter system set synchronous_standby_names = '${synchronous ? standbyName : ''}'`)
      await sql`select pg_reload_conf()`
    })
  await setSynchronous()

  return {
    url: `${urlOf(`127.0.0.1:${one},127.0.0.1:${other}`)}?target_session_attrs=read-write`,
    ask: <T>(work: (sql: postgres.Sql) => Promise<T>) => ask(primary, work),
    /** Waits until the standby has all that the primary has. */
    async caughtUp() {
      const [now] = await ask(primary, (sql) => sql`select pg_current_wal_lsn()::text as lsn`)
      const has = () =>
        ask(standby, (sql) => sql`select 1 where pg_last_wal_replay_lsn() >= ${now!.lsn}::pg_lsn`)
      await until(async () => ((await has()).length > 0 ? true : undefined), readyTimeoutMs, 10)
    },
    /** From now on the standby gets nothing any more. */
    cutStandbyOff: () =>
      ask(standby, async (sql) => {
        await sql`alter system set primary_conninfo = ''`
        await sql`select pg_reload_conf()`
        const receivers = () => sql`select 1 from pg_stat_wal_receiver`
        await until(async () => ((await receivers()).length === 0 ? true : undefined), readyTimeoutMs, 10)
      }),
    killPrimary: () => end(primary.pid, primary.dir, 'SIGKILL', readyTimeoutMs),
    /** The standby writes from now on; who is asked is it. */
    async promote() {
      await ask(standby, async (sql) => {
        await sql`alter system reset synchronous_standby_names`
        await sql`select pg_promote(true, 30)`
      })
      ;[primary, standby] = [standby, primary]
    },
    /** What was the primary follows the one that is. */
    async rejoin() {
      await rm(standby.dir, { recursive: true, force: true })
      await follow()
      await setSynchronous()
    },
    stop: async () => {
      for (const { pid, dir } of [standby, primary]) {
        if (!(await end(pid, dir, 'SIGINT', 5_000))) await end(pid, dir, 'SIGKILL', 5_000)
      }
    },
  }
}

function launched({ postgres: program, runAs }: Cluster, { dir, port }: Server): number {
  const all = Object.entries(settings)
  const command = [program, '-D', dir, '-p', String(port), ...all.flatMap(([k, v]) => ['-c', `${k}=${v}`])]
  const { prefix, uid, gid } = runAs
  return launch({ command: [...prefix, ...command], cwd: '/', logFile: `${dir}.log`, uid, gid }).pid
}

/** What pg_basebackup does, which is not in the package. */
async function copied(sql: postgres.Sql, from: string, to: string): Promise<void> {
  await sql`select pg_backup_start('copy', true)`
  // Files may come and go while they are copied: the log tells what became of them.
  await run('cp', ['-a', from, to]).catch(() => {})
  const [stopped] = await sql<{ labelfile: string }[]>`select labelfile from pg_backup_stop(false)`
  for (const name of ['postmaster.pid', 'pg_wal']) await rm(join(to, name), { recursive: true, force: true })
  const { uid, gid } = await stat(from)
  await mkdir(join(to, 'pg_wal'), { mode: 0o700 })
  await writeFile(join(to, 'backup_label'), stopped!.labelfile)
  await writeFile(join(to, 'standby.signal'), '')
  for (const name of ['pg_wal', 'backup_label', 'standby.signal']) await chown(join(to, name), uid, gid)
}

function asked<T>(url: string, database: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const options = { database, max: 1, connect_timeout: 5, fetch_types: false, onnotice: () => {} }
  const sql = postgres(url, { ...options, connection: { application_name: 'test' } })
  return work(sql).finally(() => sql.end({ timeout: 1 }))
}
