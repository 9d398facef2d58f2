import type { PendingQuery, Row, Sql } from 'postgres'

/** A query of postgres.js. `handler` sends the query; a part of another query is never sent. */
export interface Query extends PromiseLike<unknown> {
  strings: string[]
  args: unknown[]
  tagged: boolean
  options: { prepare?: boolean; onexecute?: () => boolean }
  state: object | null
  handler(query: Query): unknown
  resolve(rows: unknown): void
  reject(error: unknown): void
}

/** Returns `sql` that calls `hook` with each new query. @param replaced methods of the returned `sql` */
export function hookQueries<S extends object>(
  sql: S,
  hook: (query: Query, create: () => Query) => void,
  replaced: object = {},
): S {
  const hooked = (create: () => object) => {
    const created = create()
    if ('handler' in created) hook(created as Query, create as () => Query)
    return created
  }
  const { unsafe } = sql as unknown as Sql
  const methods = new Map<string | symbol, unknown>(
    Object.entries({
      unsafe: (...args: Parameters<Sql['unsafe']>) => hooked(() => unsafe(...args)),
      ...replaced,
    }),
  )
  return new Proxy(sql, {
    apply: (target, self, args) => hooked(() => Reflect.apply(target as Sql, self, args)),
    get: (target, name) => methods.get(name) ?? Reflect.get(target, name),
  })
}

/** Returns the query with the option `prepare` of another query. */
export type Alike = <Q extends object>(query: Q) => Q

/** Returns `sql` whose queries `run` sends. @param run gets a query that can be a part of another query */
export const redirected = (
  sql: Sql,
  run: (query: PendingQuery<Row[]>, alike: Alike) => Promise<unknown>,
): Sql =>
  hookQueries(sql, (query) => {
    const alike: Alike = (other) => {
      const { prepare } = query.options
      if (prepare !== undefined) (other as unknown as Query).options.prepare = prepare
      return other
    }
    query.handler = () => run(partOf(sql, query), alike).then(query.resolve, query.reject)
  })

/** Returns the query as a part of another query. A text with `$1`, `$2` becomes a template. */
function partOf(sql: Sql, query: Query): PendingQuery<Row[]> {
  const [text = ''] = query.strings
  if (query.tagged || query.args.length === 0) return query as never
  const strings = text.split(/\$\d+/)
  const args = Array.from(text.matchAll(/\$(\d+)/g), ([, number]) => query.args[Number(number) - 1])
  return sql(Object.assign(strings, { raw: strings }) as never, ...(args as never[]))
}
