import postgres from 'postgres'
import { createConnector, connectMs, tlsModeOf, type PrimaryFinder } from './connect.ts'
import { StatementLimit } from './statement-limit.ts'
import { type QueryOptions, withTimeouts } from './timeouts.ts'
import { isoInstant, arrayTypes } from './values.ts'
import { padding, withoutLateEnd } from './workarounds.ts'

interface PoolOptions extends QueryOptions {
  url: string
  primary?: PrimaryFinder
  pooler: string
  connections: number
  statementMs: number
  /** The most prepared statements of a connection. A pooler has its own limit. */
  maxStatements?: number
  settings?: Record<string, string>
}

const graceMs = 700
/** Added to the statement timeout. A connection without data for the sum of both times counts as broken. */
const idleMs = 300

export function openPool(pool: PoolOptions): postgres.Sql {
  const { url, primary, idleTimeouts, pooler, statementMs, maxStatements } = pool
  const isPooled = pooler !== 'off'
  const sockets = createConnector(idleTimeouts, statementMs + idleMs, tlsModeOf(url), isPooled, primary)
  const sql = postgres(url, {
    max: pool.connections,
    connect_timeout: connectMs / 1_000,
    // The connector opens TLS. The types of postgres.js lack `socket`.
    ssl: false,
    ...{ socket: sockets.connect },
    backoff: (retries) => Math.min(0.05 * 2 ** retries, 0.25),
    onnotice: () => {},
    // With `true`, each new connection queries the array types. If the query fails, the process ends.
    fetch_types: false,
    prepare: pooler !== 'on',
    types: arrayTypes,
    transform: { column: { from: postgres.toCamel } },
    connection: {
      application_name: 'docket',
      TimeZone: 'UTC',
      ...padding,
      // A pooler shares connections between clients, and rejects settings.
      ...(!isPooled && { jit: 'off', statement_timeout: `${statementMs}ms`, ...pool.settings }),
    } as Record<string, string>,
  })
  sql.options.parsers[1184] = isoInstant
  return withTimeouts(withoutLateEnd(sql), {
    ...pool,
    isPooled,
    limitMs: statementMs + graceMs,
    statements: maxStatements && !isPooled ? new StatementLimit(sql, maxStatements) : undefined,
    onStandby: sockets.closeAll,
  })
}
