import postgres from 'postgres'
import { createConnector, connectMs, type PrimaryFinder, type Server } from './connect.ts'
import { StatementLimit } from './statement-limit.ts'
import { type QueryOptions, withTimeouts } from './timeouts.ts'
import { isoInstant, arrayTypes } from './values.ts'
import { padding, withoutLateEnd } from './workarounds.ts'

interface PoolOptions extends QueryOptions {
  server: Server
  primary?: PrimaryFinder
  pooler: string
  connections: number
  statementMs: number
  /** The maximum number of characters of the prepared statements of a connection. A pooler has its own limit. */
  maxStatementCharacters?: number
  settings?: Record<string, string>
}

const graceMs = 700
/** Added to the statement timeout. A connection without data for the sum of both times counts as broken. */
const idleMs = 300

export function openPool(pool: PoolOptions): postgres.Sql {
  const { server, primary, idleTimeouts, pooler, statementMs, maxStatementCharacters } = pool
  const isPooled = pooler !== 'off'
  const sockets = createConnector(
    idleTimeouts,
    statementMs + idleMs,
    server.options.socket,
    isPooled,
    primary,
  )
  const sql = postgres(server.url, {
    ...server.options,
    max: pool.connections,
    connect_timeout: connectMs / 1_000,
    // The types of postgres.js lack `socket`.
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
    mayWrite: !pool.retries,
    limitMs: statementMs + graceMs,
    statements:
      maxStatementCharacters && !isPooled ? new StatementLimit(sql, maxStatementCharacters) : undefined,
    onStandby: sockets.closeAll,
  })
}
