import { Database } from 'bun:sqlite'
import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { postgresIn, startPostgres } from './postgres.ts'
import { type StartOptions, stop, until } from './server.ts'
import { NoRedisServer, redisIn, startRedis } from './redis.ts'

const startGateTimeoutMs = 300_000
const stopGateTimeoutMs = 15_000

interface LocalOptions extends StartOptions {
  dataDir: string
  postgres: boolean
  redis: boolean
}

export interface Local {
  databaseUrl?: string
  redisUrl?: string
  /** Why Redis was not started: the machine has no Redis server. */
  withoutRedis?: string
  stop(): Promise<void>
}

/** Starts the servers of `dataDir`, or uses those that run. The last process to call `stop` stops the servers. */
export async function startLocal(options: LocalOptions): Promise<Local> {
  if (!options.postgres && !options.redis) return { stop: async () => {} }
  try {
    await mkdir(options.dataDir, { recursive: true })
    const dir = await realpath(options.dataDir)
    return await withGate(dir, startGateTimeoutMs, () => startIn(dir, options), options.signal)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (!/^(E(ACCES|PERM|EXIST|NOTDIR|ROFS|NOSPC|DQUOT)|SQLITE_.*)$/.test(code)) throw error
    throw new Error(`DATA_DIR ${options.dataDir} cannot be used by this user: ${message}`, { cause: error })
  }
}

async function startIn(dir: string, options: LocalOptions): Promise<Local> {
  const isShared = !isUnused(dir)
  const use = tryLock(join(dir, 'users.lock'), 'shared')
  if (!use) throw new Error(`${join(dir, 'users.lock')} is locked by another program.`)
  const leave = () => {
    use.release()
    return stopUnused(dir)
  }
  try {
    const databaseUrl = options.postgres ? await startPostgres(dir, isShared, options) : undefined
    const redis = options.redis ? await startOptionalRedis(dir, options) : {}
    let stopped: Promise<void> | undefined
    // The gate keeps other processes from using a server that is stopping.
    return { databaseUrl, ...redis, stop: () => (stopped ??= withGate(dir, stopGateTimeoutMs, leave)) }
  } catch (error) {
    await leave().catch(() => {})
    throw error
  }
}

const startOptionalRedis = (dir: string, starting: StartOptions) =>
  startRedis(dir, starting).then(
    (redisUrl) => ({ redisUrl }),
    (error: unknown) => {
      if (error instanceof NoRedisServer) return { withoutRedis: error.message }
      throw error
    },
  )

async function stopUnused(dir: string): Promise<void> {
  if (!isUnused(dir)) return
  const servers = [postgresIn(join(dir, 'postgres')), redisIn(join(dir, 'redis'))]
  const results = await Promise.allSettled(servers.map(stop))
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

function isUnused(dir: string): boolean {
  const lock = tryLock(join(dir, 'users.lock'), 'exclusive')
  lock?.release()
  return lock !== undefined
}

async function withGate<T>(dir: string, timeoutMs: number, work: () => Promise<T>, signal?: AbortSignal) {
  const gate = await until(() => tryLock(join(dir, 'gate.lock'), 'exclusive'), timeoutMs, { signal })
  const message = `Another process has been starting or stopping the servers in ${dir} for ${timeoutMs} ms.`
  if (!gate) throw new Error(message)
  return work().finally(() => gate.release())
}

/** Locks a file between processes; a crash releases the lock. Returns undefined if another process has the lock. */
function tryLock(path: string, mode: 'shared' | 'exclusive') {
  const database = new Database(path)
  try {
    database.run(mode === 'exclusive' ? 'begin exclusive' : 'begin')
    // SQLite acquires the shared lock at the first read.
    database.query('select count(*) from sqlite_master').get()
  } catch (error) {
    database.close()
    if (error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY') return undefined
    throw error
  }
  return {
    release: () => {
      database.run('rollback')
      database.close()
    },
  }
}
