import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { type Cluster, clusterPassword, databaseName, openCluster } from '../../src/local/postgres.ts'
import { endServer, freePort, launch, logTail, until } from '../../src/local/server.ts'
import { eventually } from '../races/pair.ts'
import { copyToStandby } from '../support/postgres-backup.ts'

const readyTimeoutMs = 60_000
const stopTimeoutMs = 15_000
const standbyName = 'standby'
const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '64MB',
  wal_keep_size: '512MB',
  wal_retrieve_retry_interval: '100ms',
}

interface Server {
  dir: string
  port: number
  pid: number
}

/** A Postgres server, and a standby that can replace the server. A restarted server has the same port and data. */
export type PostgresServer = Awaited<ReturnType<typeof openPostgres>>

export async function openPostgres(dataDir: string) {
  const cluster = await openCluster(dataDir, { log: () => {} })
  const password = await clusterPassword(cluster.dir)
  const [one, other] = await Promise.all([freePort(), freePort()])
  let primary: Server = { dir: cluster.dir, port: one, pid: 0 }
  let standby: Server = { dir: join(dataDir, 'second'), port: other, pid: 0 }
  const urlOf = (...ports: number[]) => {
    const hosts = ports.map((port) => `127.0.0.1:${port}`).join()
    return `postgres://${databaseName}:${password}@${hosts}/${databaseName}`
  }
  const queryAt = <T>(server: Server, work: (sql: postgres.Sql) => Promise<T>, database = databaseName) => {
    const options = { database, max: 1, connect_timeout: 2, fetch_types: false, onnotice: () => {} }
    const connection = { application_name: 'faults' }
    const sql = postgres(urlOf(server.port), { ...options, connection })
    return work(sql).finally(() => sql.end({ timeout: 1 }))
  }
  const answers = (server: Server) => queryAt(server, (sql) => sql`select 1`, 'postgres').then(...yesOrNo)
  const start = (server: Server) => startServer(cluster, server, () => answers(server))
  const replicas: Server[] = []
  /** Copies the server, starts the copy as a standby, and waits until it has caught up. */
  async function openCopy(server: Server, name: string) {
    const conninfo = `host=127.0.0.1 port=${primary.port} user=${databaseName} password=${password} application_name=${name}`
    await queryAt(primary, (sql) => copyToStandby(sql, primary.dir, server.dir, conninfo))
    await start(server)
    const runIn = (database?: string) => (text: string) =>
      queryAt(server, (sql) => sql.unsafe(text).then((rows) => rows[0]), database)
    // A standby cancels queries that conflict with its replay, but only in the database that it replays.
    const [run, control] = [runIn(), runIn('postgres')]
    const untilTrue = (what: string, condition: string) =>
      eventually(what, async () => (await control(`select ${condition} as so`))?.so === true)
    const copy = {
      url: urlOf(server.port),
      run,
      pause: () => control('select pg_wal_replay_pause()'),
      resume: () => control('select pg_wal_replay_resume()'),
      async promote() {
        await control('select pg_promote(false)')
        await untilTrue('the promotion', 'not pg_is_in_recovery()')
      },
      async cutOff() {
        await control(`alter system set primary_conninfo = ''`)
        await control('select pg_reload_conf()')
        await untilTrue('the end of the replication', 'not exists (select from pg_stat_wal_receiver)')
      },
      signal: (name: 'SIGSTOP' | 'SIGCONT') => signalTree(server.pid, name),
      kill: () => endServer(server.pid, server.dir, 'SIGKILL', stopTimeoutMs),
      start: () => start(server),
      async caughtUp() {
        const [now] = await queryAt(primary, (sql) => sql`select pg_current_wal_lsn()::text as lsn`)
        await untilTrue('the standby to catch up', `pg_last_wal_replay_lsn() >= '${now!.lsn}'`)
      },
    }
    await copy.caughtUp()
    return copy
  }

  await start(primary)
  await queryAt(primary, async (sql) => void (await sql`create database ${sql(databaseName)}`), 'postgres')
  return {
    url: urlOf(one),
    urls: `${urlOf(one, other)}?target_session_attrs=read-write`,
    start: () => start(primary),
    /** Like `pg_ctl stop -m immediate`: no checkpoint, so the next start recovers from the WAL. */
    stopImmediately: async () => void (await endServer(primary.pid, primary.dir, 'SIGQUIT', stopTimeoutMs)),
    async stop() {
      for (const { pid, dir } of [...replicas, standby, primary])
        if (pid && !(await endServer(pid, dir, 'SIGINT', stopTimeoutMs)))
          await endServer(pid, dir, 'SIGQUIT', stopTimeoutMs)
    },
    query: <T>(work: (sql: postgres.Sql) => Promise<T>) => queryAt(primary, work),

    signal: (name: 'SIGSTOP' | 'SIGCONT') => signalTree(primary.pid, name),

    /** Starts the standby that can replace the server. If synchronous, later commits wait for the standby. */
    async startStandby({ synchronous }: { synchronous: boolean }) {
      await queryAt(primary, async (sql) => {
        await sql.unsafe(`alter system set synchronous_standby_names = '${synchronous ? standbyName : ''}'`)
        await sql`select pg_reload_conf()`
      })
      return openCopy(standby, standbyName)
    },
    /** Starts a further standby, only for reads. */
    async openReplica() {
      const name = `replica-${replicas.length}`
      const replica: Server = { dir: join(dataDir, name), port: await freePort(), pid: 0 }
      replicas.push(replica)
      return openCopy(replica, name)
    },
    killPrimary: () => endServer(primary.pid, primary.dir, 'SIGKILL', stopTimeoutMs),
    async promote() {
      await queryAt(standby, async (sql) => {
        await sql`alter system reset synchronous_standby_names`
        await sql`select pg_reload_conf()`
        await sql`select pg_promote(true, 30)`
      })
      ;[primary, standby] = [standby, { ...primary, pid: 0 }]
    },
  }
}

async function startServer(cluster: Cluster, server: Server, answers: () => Promise<boolean>): Promise<void> {
  const logFile = `${server.dir}.log`
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const { prefix, uid, gid } = cluster.runAs
  const command = [...prefix, cluster.postgres, '-D', server.dir, '-p', String(server.port), ...options]
  const tryStart = () => {
    const { pid, ended } = launch(command, logFile, { cwd: '/', uid, gid })
    server.pid = pid
    const isReady = async () => (ended() ? false : (await answers()) || undefined)
    return until(isReady, readyTimeoutMs, { everyMs: 20 })
  }
  // Retried, because processes of the stopped server may still use its shared memory.
  if (await until(async () => (await tryStart()) || undefined, readyTimeoutMs, { everyMs: 100 })) return
  throw new Error(`Postgres did not start. ${await logTail(logFile)}`)
}

/**
 * Stops or continues all processes of a server; their connections stay open. The processes have sessions of their own, so a
 * signal to the group would miss them.
 */
function signalTree(pid: number, name: NodeJS.Signals): void {
  const isChild = (other: string) => {
    try {
      return readFileSync(`/proc/${other}/status`, 'utf8').includes(`\nPPid:\t${pid}\n`)
    } catch {
      return false
    }
  }
  const children = readdirSync('/proc').filter((other) => /^\d+$/.test(other) && isChild(other))
  for (const one of [pid, ...children.map(Number)]) process.kill(one, name)
}

const yesOrNo = [() => true, () => false] as const
