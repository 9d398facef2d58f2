import type postgres from 'postgres'
import type { Config } from '../config.ts'
import type { Counts } from '../metrics/counts.ts'
import { openPool, type PoolOptions } from './pool.ts'
import { primaryServer } from './primary.ts'

export type Sql = postgres.Sql
export type SqlPart = postgres.PendingQuery<postgres.Row[]>

/** The pools that a standby also has. */
export interface ReadPools {
  /** Short reads: postgres.js prepares and pipelines the queries, so a query takes one round trip. */
  reads: Sql
  /** Long reads have their own connection, so that no short read waits for them. */
  expensive: Sql
  /** Searches: their statements have many shapes, so each is planned for its values and may use every kind of plan. */
  searches: Sql
  /** Transactions of exports and of snapshots in streams, each of which reads one version for seconds or minutes. */
  exports: Sql
}

export interface Database extends ReadPools {
  /** Index steps of searches, so that they do not wait for long reads. */
  indexing: Sql
  commits: Sql
  /** Commits of projects that met a locked row. */
  commitsApart: Sql
  background: Sql
  close(): Promise<void>
}

export function openDatabase(config: Config, counts?: Counts['queries']): Database {
  const server = { server: primaryServer(config.databaseUrl), pooler: config.databasePooler }
  const statementMs = Math.round(Math.max(config.readTimeoutMs / 2 - 800, config.readTimeoutMs / 4))
  const readPool = { ...server, statementMs, retries: true }
  const shared = openReadPools(config, readPool, counts)
  // With more memory, Postgres merges rows into the index of words faster.
  const indexing = openPool({
    ...{ ...readPool, connections: 1, maxStatementCharacters, durations: counts?.reads },
    settings: { ...indexPlans, work_mem: '32MB' },
  })
  const commitPool = {
    ...server,
    statementMs: config.commitTimeoutMs,
    maxStatementCharacters,
    settings: { ...indexPlans, lock_timeout: `${config.lockTimeoutMs}ms` },
    durations: counts?.commits,
  }
  const commits = openPool({ ...commitPool, connections: config.commitSlots })
  const commitsApart = openPool({ ...commitPool, connections: 1 })
  const background = openPool({
    ...server,
    connections: config.backgroundConnections,
    statementMs: config.backgroundTimeoutMs,
    settings: customPlans,
    durations: counts?.background,
  })
  const pools = { ...shared, indexing, commits, commitsApart, background }
  return {
    ...pools,
    // With a timeout, because postgres.js would wait for broken idle connections.
    close: () => endPools(pools),
  }
}

export async function endPools(pools: object): Promise<void> {
  await Promise.all(Object.values(pools).map((sql: Sql) => sql.end({ timeout: 1 })))
}

type ServerOptions = Omit<PoolOptions, 'connections'>

export function openReadPools(config: Config, server: ServerOptions, counts?: Counts['queries']): ReadPools {
  const connections = Math.max(1, config.readConnections - 1)
  const readPool = { ...server, maxStatementCharacters, settings: indexPlans, durations: counts?.reads }
  const reads = openPool({ ...readPool, connections })
  const expensive = config.readConnections > 1 ? openPool({ ...readPool, connections: 1 }) : reads
  const searches = openPool({ ...readPool, ...searchPool, durations: counts?.searches })
  return { reads, expensive, searches, exports: openPool({ ...server, ...exportPool }) }
}

/** Enough for about 80 lists and all other reads. With these statements, a connection takes at most 50 MiB. */
const maxStatementCharacters = 280_000

/**
 * Reads and commits find a few rows by an index. With generic plans, Postgres does not plan each statement again: a read
 * takes 28 µs instead of 51 (measured). A generic plan for a small table would scan the table even after the table has
 * grown, so scans and other plan types for whole tables are disabled.
 */
const indexPlans = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_incremental_sort: 'off',
}

/** Background statements read between one row and a whole table, so each gets its own plan. */
const customPlans = { plan_cache_mode: 'force_custom_plan' }

/**
 * Searches find rows by an index, so a random page costs about as much as the next page. With other settings, Postgres
 * sorts all documents of a project instead of reading the newest (measured: 240 ms instead of 2).
 */
const searchPlans = {
  ...customPlans,
  random_page_cost: '1.1',
  enable_seqscan: 'off',
  max_parallel_workers_per_gather: '0',
  work_mem: '16MB',
}

/** Opened by the first search. */
const searchPool = { connections: 2, settings: searchPlans }

/** The maximum number of exports of a process that read the database at the same time. */
export const maxExports = 4

/** The maximum number of snapshots of streams that a process reads at the same time, besides exports. */
export const maxSnapshots = 4

/** Opened by the first export or snapshot. Each transaction begins with its own settings. */
const exportPool = { connections: maxExports + maxSnapshots, statementMs: 60_000, retries: false }
