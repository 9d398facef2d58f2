import postgres from 'postgres'
import type { Config } from './config.ts'
import { endingAtOnce } from './postgres-socket.ts'
import { withWholeResults } from './whole-results.ts'

export type Sql = postgres.Sql
/** A part of a query's text, with its parameters. */
export type SqlPart = postgres.PendingQuery<postgres.Row[]>

export interface Database {
  /** Queries. Tagged templates are prepared by postgres.js: one round trip each, pipelined. */
  reads: Sql
  /** The group commit's own connections, so that no slow list delays a write. */
  commits: Sql
  /** What no read waits for: accounts, the outbox, cascades, cleanup. */
  chores: Sql
  close(): Promise<void>
}

/**
 * postgres.js 3.4 keeps what it had not written yet when a connection broke, and then sends a greeting shorter than
 * 1 KiB only with it, which is never: the connection hangs until its time-out, 5 s, again and again. A longer greeting
 * goes out at once. Measured with connections terminated 60 times under load: 35 time-outs without this, none with it.
 */
const padding = { 'docket.padding': 'x'.repeat(1_024) }

/** Opens the pools; connections are made when first used. Timestamps come back as ISO 8601 in UTC with milliseconds. */
export function openDatabase(config: Config): Database {
  const connect = (max: number, settings: Record<string, string>) => {
    const sql = postgres(config.databaseUrl, {
      max,
      connect_timeout: 5,
      ...{ socket: endingAtOnce }, // postgres.js knows this option, its types do not
      backoff: (retries) => Math.min(0.05 * 2 ** retries, 1),
      onnotice: () => {},
      // Asking each new connection for its array types is a query more, and one that ends the process when it fails.
      fetch_types: false,
      types: { list },
      transform: { column: { from: postgres.toCamel } },
      connection: { application_name: 'docket', TimeZone: 'UTC', jit: 'off', ...padding, ...settings },
    })
    sql.options.parsers[1184] = isoInstant
    return withWholeResults(sql)
  }
  const reads = connect(config.readConnections, { ...byIndex, statement_timeout: ms(config.readTimeoutMs) })
  const commits = connect(config.commitSlots, {
    ...byIndex,
    statement_timeout: ms(config.commitTimeoutMs),
    lock_timeout: ms(config.lockTimeoutMs),
  })
  const chores = connect(config.choreConnections, {
    ...byCase,
    statement_timeout: ms(config.choreTimeoutMs),
  })
  return {
    reads,
    commits,
    chores,
    // Everything is answered by now; what broke and was not used since would keep postgres.js waiting for its end.
    async close() {
      await Promise.all([reads, commits, chores].map((sql) => sql.end({ timeout: 1 })))
    },
  }
}

const ms = (number: number) => `${number}ms`

/**
 * Every query of reads and commits finds a few rows by an index. Planned once, so: planning again for each batch took half of a read's
 * time in Postgres (51 against 28 µs, measured), and a plan made while a table was small must not go on scanning it.
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

const listTypes = [2951, 1009] // uuid[], text[]

/** Lists go to the database as array literals; none come back. */
const list = {
  to: 2951,
  from: listTypes,
  serialize: (items: string[]) => `{${items.map(quoted).join()}}`,
  parse: (text: string) => text,
}

/** Ids and numbers stand as they are: quoting them takes a tenth of the time that a batch of reads takes here. */
const plain = /^(?!null$)[\w-]+$/i
const quoted = (item: string) => (plain.test(item) ? item : `"${item.replace(/["\\]/g, '\\$&')}"`)

/** From `2027-01-31 17:00:00.5+00`. Date would read the year 50 as 1950. */
function isoInstant(text: string): string {
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).slice(0, 3).padEnd(3, '0')}Z`
}

const passing = /^(CONNECTION_|CONNECT_TIMEOUT|ECONN|EPIPE|ETIMEDOUT|57P0|57014|08|53|40001|40P01|55P03)/

/** True for an error that says "not now" (no connection, shutting down, out of connections), not "never". */
export function isPassing(error: unknown): boolean {
  return passing.test(errorCode(error))
}

/** Does something that is safe to repeat, once more when it fails in passing. */
export const patiently = <T>(work: () => PromiseLike<T>): Promise<T> =>
  Promise.resolve(work()).catch((error: unknown) => (isPassing(error) ? work() : Promise.reject(error)))

/** The SQLSTATE or the driver's code of a database error, else an empty string. */
export function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}
