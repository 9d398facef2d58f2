import type { Sql } from './database.ts'

type Resolve = (rows: unknown[]) => void

/**
 * When a result is interrupted in its middle (a cut connection, a statement that ran out of time), postgres.js 3.4
 * goes on counting rows from there (porsager/postgres#1181): the next result on that connection begins with as many
 * holes, so that a row that exists reads as none. This takes the holes out.
 */
export function withWholeResults(sql: Sql): Sql {
  return new Proxy(sql, {
    apply: (target, self, args) => mended(Reflect.apply(target, self, args)),
    get: (target, name) => (name === 'unsafe' ? unsafe(target) : Reflect.get(target, name)),
  })
}

const unsafe =
  (sql: Sql) =>
  (...args: Parameters<Sql['unsafe']>) =>
    mended(sql.unsafe(...args))

/** Queries carry their own `resolve`; what is no query, such as an identifier, carries none. */
function mended<Q extends object>(query: Q & { resolve?: Resolve }): Q {
  const { resolve } = query
  if (resolve) query.resolve = (rows) => resolve(whole(rows))
  return query
}

function whole(rows: unknown[]): unknown[] {
  if (rows.length === 0 || 0 in rows) return rows
  rows.splice(
    0,
    rows.findIndex((_, i) => i in rows),
  )
  return rows
}
