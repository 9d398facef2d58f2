import type { Sql, SqlPart } from './database.ts'

/** A query of postgres.js. `handler` sends the query; a part of another query is never sent. */
interface Query {
  strings: string[]
  args: unknown[]
  tagged: boolean
  options: { prepare?: boolean }
  handler(query: Query): unknown
  resolve(rows: unknown): void
  reject(error: unknown): void
}

/** Returns the query with the option `prepare` of another query. */
export type Alike = <Q extends object>(query: Q) => Q

/** Returns `sql` whose queries `run` sends. @param run gets a query as a part for another query */
export function redirected(sql: Sql, run: (query: SqlPart, alike: Alike) => Promise<unknown>): Sql {
  const redirect = (created: unknown) => {
    const query = created as Query
    if (!('handler' in query)) return created
    const alike: Alike = (other) => {
      const { prepare } = query.options
      if (prepare !== undefined) (other as unknown as Query).options.prepare = prepare
      return other
    }
    query.handler = () => run(partOf(sql, query), alike).then(query.resolve, query.reject)
    return created
  }
  return new Proxy(sql, {
    apply: (target, self, args) => redirect(Reflect.apply(target, self, args)),
    get: (target, name) =>
      name === 'unsafe'
        ? (...args: Parameters<Sql['unsafe']>) => redirect(sql.unsafe(...args))
        : Reflect.get(target, name),
  })
}

/** Returns the query as a part of another query. A text with `$1`, `$2` becomes a template. */
function partOf(sql: Sql, query: Query): SqlPart {
  const [text = ''] = query.strings
  if (query.tagged || query.args.length === 0) return query as never
  const strings = text.split(/\$\d+/)
  const args = Array.from(text.matchAll(/\$(\d+)/g), ([, number]) => query.args[Number(number) - 1])
  return sql(Object.assign(strings, { raw: strings }) as never, ...(args as never[]))
}
