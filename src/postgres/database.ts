import postgres from 'postgres'
import type { Config } from '../config.ts'
import { type Counts, noQueries } from '../metrics/counts.ts'
import { connecting, connectMs, tlsModeOf } from './connect.ts'
import { watched } from './queries.ts'
import { Silence } from './silence.ts'
import { isoInstant, lists } from './values.ts'
import { padding } from './workarounds.ts'
import { openWriter, serverUrls, type Writer } from './writer.ts'

export type Sql = postgres.Sql
/** A part of a query's text, with its parameters. */
export type SqlPart = postgres.PendingQuery<postgres.Row[]>

export interface Database {
  /** Queries. Tagged templates are prepared by postgres.js: one round trip each, pipelined. */
  reads: Sql
  /** Reads that take long: no other read is sent on a connection behind one. */
  expensive: Sql
  /** Short writes by an index, the group commit's above all: no slow list delays them. */
  commits: Sql
  /** What no read waits for: accounts, the outbox, cascades, cleanup. */
  chores: Sql
  close(): Promise<void>
}

interface Pool {
  connections: number
  /** How long Postgres may work on a statement. */
  statementMs: number
  repeats: boolean
  settings: Record<string, string>
  counts?: Counts['queries']['reads']
}

interface Means {
  silence: Silence
  writer: Writer | undefined
}

/** Postgres ends a statement that takes too long by itself; who says nothing so much later is gone. */
const graceMs = 400
/** For a connection; and what has one is told first that it has gone, so that it asks on a fresh one. */
const queueMs = 300

/** Opens the pools; connections are made when first used. Timestamps come back as ISO 8601 in UTC with milliseconds. */
export function openDatabase(config: Config, counts?: Counts['queries']): Database {
  const silence = new Silence()
  const writer = openWriter(config.databaseUrl, silence)
  const open = (pool: Pool) => openPool(config, { silence, writer }, pool)
  const readPool = {
    // Within its time a read that fails in passing is asked once more.
    statementMs: Math.round(Math.max(config.readTimeoutMs / 2 - 800, config.readTimeoutMs / 4)),
    repeats: true,
    settings: byIndex,
    counts: counts?.reads,
  }
  const { readConnections } = config
  const reads = open({ ...readPool, connections: Math.max(1, readConnections - 1) })
  const expensive = readConnections > 1 ? open({ ...readPool, connections: 1 }) : reads
  const commits = open({
    connections: config.commitSlots,
    statementMs: config.commitTimeoutMs,
    repeats: false,
    settings: { ...byIndex, lock_timeout: `${config.lockTimeoutMs}ms` },
    counts: counts?.commits,
  })
  const chores = open({
    connections: config.choreConnections,
    statementMs: config.choreTimeoutMs,
    repeats: false,
    settings: byCase,
    counts: counts?.chores,
  })
  return {
    reads,
    expensive,
    commits,
    chores,
    // Everything is answered by now; what broke and was not used since would keep postgres.js waiting for its end.
    async close() {
      await Promise.all([reads, expensive, commits, chores].map((sql) => sql.end({ timeout: 1 })))
      silence.close()
    },
  }
}

function openPool(config: Config, { silence, writer }: Means, pool: Pool): Sql {
  const { databaseUrl, databasePooler } = config
  const isPooled = databasePooler !== 'off'
  const { connections, statementMs, repeats, settings, counts = noQueries() } = pool
  const silentMs = statementMs + graceMs
  const sockets = connecting(silence, { writer, tls: tlsModeOf(databaseUrl), isPooled, silentMs })
  // Where there are several servers, `writer` says which: postgres.js itself tries those that are away without a pause.
  const sql = postgres(serverUrls(databaseUrl)[0]!, {
    max: connections,
    connect_timeout: connectMs / 1_000,
    ssl: false, // ours
    ...{ socket: sockets.connect }, // postgres.js knows this option, its types do not
    backoff: (retries) => Math.min(0.05 * 2 ** retries, 0.25),
    onnotice: () => {},
    // Asking each new connection for its array types is a query more, and one that ends the process when it fails.
    fetch_types: false,
    prepare: databasePooler !== 'on',
    types: lists,
    transform: { column: { from: postgres.toCamel } },
    connection: {
      application_name: 'docket',
      TimeZone: 'UTC',
      ...padding,
      // A pooler gives a connection to one caller after another, and knows no settings of any.
      ...(!isPooled && { jit: 'off', statement_timeout: `${statementMs}ms`, ...settings }),
    } as Record<string, string>,
  })
  sql.options.parsers[1184] = isoInstant
  return watched(sql, { silence, limitMs: silentMs + queueMs, repeats, onStandby: sockets.renew, counts })
}

/**
 * Every query of reads and commits finds a few rows by an index. Planned once, so: planning again for each batch took
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

/** Chores are few, and from one row to a look over a whole table: each is planned for what it asks this time. */
const byCase = { plan_cache_mode: 'force_custom_plan' }
