import type postgres from 'postgres'
import type { Config } from '../config.ts'
import type { Counts } from '../metrics/counts.ts'
import { openPool, type Pool } from './pool.ts'
import { Silence } from './silence.ts'
import { openWriter, serverUrls } from './writer.ts'

export type Sql = postgres.Sql
export type SqlPart = postgres.PendingQuery<postgres.Row[]>

export interface Database {
  /** Tagged templates are prepared by postgres.js: one round trip each, pipelined. */
  reads: Sql
  /** Long reads: no other read is sent on a connection behind one. */
  expensive: Sql
  /** Short writes by an index, above all the group commit: no slow list delays them. */
  commits: Sql
  /** What no read waits for: accounts, the outbox, cascades, cleanup. */
  background: Sql
  close(): Promise<void>
}

export function openDatabase(config: Config, counts?: Counts['queries']): Database {
  const { databaseUrl, databasePooler: pooler, readConnections } = config
  const silence = new Silence()
  const writer = openWriter(databaseUrl, silence)
  // Where there are several servers, `writer` finds one: postgres.js retries dead servers without a pause.
  const url = serverUrls(databaseUrl)[0]!
  const open = (pool: Omit<Pool, 'url' | 'writer' | 'silence' | 'pooler'>) =>
    openPool({ url, writer, silence, pooler, ...pool })
  const readPool = {
    statementMs: Math.round(Math.max(config.readTimeoutMs / 2 - 800, config.readTimeoutMs / 4)),
    repeats: true,
    settings: byIndex,
    counts: counts?.reads,
  }
  const reads = open({ ...readPool, connections: Math.max(1, readConnections - 1) })
  const expensive = readConnections > 1 ? open({ ...readPool, connections: 1 }) : reads
  const commits = open({
    connections: config.commitSlots,
    statementMs: config.commitTimeoutMs,
    settings: { ...byIndex, lock_timeout: `${config.lockTimeoutMs}ms` },
    counts: counts?.commits,
  })
  const background = open({
    connections: config.backgroundConnections,
    statementMs: config.backgroundTimeoutMs,
    settings: byCase,
    counts: counts?.background,
  })
  const pools = { reads, expensive, commits, background }
  return {
    ...pools,
    // Everything is answered by now. postgres.js would wait for connections that broke and were not used since.
    async close() {
      await Promise.all(Object.values(pools).map((sql) => sql.end({ timeout: 1 })))
      silence.close()
    },
  }
}

/**
 * Every query of reads and commits finds a few rows by an index. Generic plans, because planning again for each batch took
 * half of a read's time in Postgres (51 against 28 µs, measured), and a plan made while a table was small must not go
 * on scanning it.
 */
const byIndex = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_incremental_sort: 'off',
}

/** Background statements are few, and read from one row to a whole table: each is planned anew. */
const byCase = { plan_cache_mode: 'force_custom_plan' }
