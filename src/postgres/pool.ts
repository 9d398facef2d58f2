import postgres from 'postgres'
import { connectMs, type Server, type Target } from './connect.ts'
import { type Pool, watchSocket, withTimeouts } from './timeouts.ts'

export interface PoolOptions extends Pool {
  server: Server
  pooler: string
  connections: number
  /** The maximum number of characters of the prepared statements of a connection. A pooler has its own limit. */
  maxStatementCharacters?: number
  settings?: Record<string, string>
}

/**
 * `bun install` applies postgres.patch to postgres.js 3.4.9. With the patch, after a broken connection: the queries in
 * progress end (porsager/postgres#1215), none of their rows remain (#1181), the next startup message is sent alone (#1133)
 * after a pause (#1193), and a transaction sends nothing more. COPY reports late errors. test/unit/driver.test.ts shows each defect.
 */
export function openPool(pool: PoolOptions): postgres.Sql {
  const { server, pooler, statementMs, maxStatementCharacters } = pool
  const isPooled = pooler !== 'off'
  const socket = async (target: Target) => watchSocket(pool, await server.options.socket(target))
  const sql = postgres(server.url, {
    ...server.options,
    max: pool.connections,
    connect_timeout: connectMs / 1_000,
    // The types of postgres.js lack these. A connection with more characters is closed, and opened again when needed.
    ...{ socket, max_statement_characters: isPooled ? undefined : maxStatementCharacters },
    backoff: (attempts) => Math.min(0.05 * 2 ** attempts, 0.25),
    onnotice: () => {},
    // With `true`, each new connection queries the array types. If the query fails, the process ends.
    fetch_types: false,
    prepare: pooler !== 'on',
    types: arrayTypes,
    transform: { column: { from: postgres.toCamel } },
    connection: {
      application_name: 'docket',
      TimeZone: 'UTC',
      // A pooler shares connections between clients, and rejects settings.
      ...(!isPooled && { jit: 'off', statement_timeout: `${statementMs}ms`, ...pool.settings }),
    } as Record<string, string>,
  })
  sql.options.parsers[1184] = isoInstant
  return withTimeouts(sql, pool, isPooled)
}

/** Returns false if npm, which ignores patches, has installed postgres.js. */
export const isPatched = (sql: postgres.Sql): boolean => 'max_statement_characters' in sql.options

const element = /"((?:[^"\\]|\\.)*)"|[^,{}]+/g
const elementsOf = (text: string): string[] =>
  Array.from(text.matchAll(element), ([whole, inQuotes]) => inQuotes?.replace(/\\(.)/g, '$1') ?? whole)
const arrayType = <T>(oid: number, literal: (items: T[]) => string, elementOf: (text: string) => T) => ({
  to: oid,
  from: [oid],
  serialize: (items: T[]) => `{${literal(items)}}`,
  parse: (text: string) => elementsOf(text).map(elementOf),
})

/** Tests the joined ids: a test of each id took a tenth of the time of a shared read. */
const ids = /^[\da-f,-]*$/
const uuids = (items: string[]): string => {
  const joined = items.join()
  return ids.test(joined) ? joined : texts(items)
}
const plain = /^(?!null$)[\w-]+$/i
const quoted = (item: string) => (plain.test(item) ? item : `"${item.replace(/["\\]/g, '\\$&')}"`)
const texts = (items: string[]): string => items.map(quoted).join()

const arrayTypes = {
  uuids: arrayType(2951, uuids, String),
  texts: arrayType(1009, texts, String),
  bigints: arrayType(1016, (items: number[]) => items.join(), Number),
}

/** Converts `2027-01-31 17:00:00.5+00` to ISO 8601. `Date` would parse the year 50 as 1950. */
function isoInstant(text: string): string {
  if (text.length === 26) return `${text.slice(0, 10)}T${text.slice(11, 23)}Z`
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).slice(0, 3).padEnd(3, '0')}Z`
}
