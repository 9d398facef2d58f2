import postgres from 'postgres'
import { noQueries } from '../metrics/counts.ts'
import { connecting, connectMs, tlsModeOf, type Writer } from './connect.ts'
import { watched } from './queries.ts'
import type { Silence } from './silence.ts'
import { isoInstant, lists } from './values.ts'
import { padding } from './workarounds.ts'

export interface Pool {
  url: string
  writer?: Writer
  silence: Silence
  pooler: string
  connections: number
  statementMs: number
  repeats?: boolean
  settings?: Record<string, string>
  counts?: ReturnType<typeof noQueries>
}

/** Postgres cancels a long statement by itself. This is added for its answer, and for the wait for a connection. */
const graceMs = 700
/** A connection that is quiet for so much longer than a statement may take is silent. */
const quietMs = 300

export function openPool(pool: Pool): postgres.Sql {
  const { url, writer, silence, pooler, statementMs, repeats = false, counts = noQueries() } = pool
  const isPooled = pooler !== 'off'
  const sockets = connecting(silence, statementMs + quietMs, tlsModeOf(url), isPooled, writer)
  const sql = postgres(url, {
    max: pool.connections,
    connect_timeout: connectMs / 1_000,
    ssl: false, // ours
    ...{ socket: sockets.connect }, // postgres.js knows this option, its types do not
    backoff: (retries) => Math.min(0.05 * 2 ** retries, 0.25),
    onnotice: () => {},
    // A query for the array types would run on each new connection, and end the process when it fails.
    fetch_types: false,
    prepare: pooler !== 'on',
    types: lists,
    transform: { column: { from: postgres.toCamel } },
    connection: {
      application_name: 'docket',
      TimeZone: 'UTC',
      ...padding,
      // A pooler shares connections between callers, and knows no settings.
      ...(!isPooled && { jit: 'off', statement_timeout: `${statementMs}ms`, ...pool.settings }),
    } as Record<string, string>,
  })
  sql.options.parsers[1184] = isoInstant
  return watched(sql, { silence, limitMs: statementMs + graceMs, repeats, onStandby: sockets.renew, counts })
}
