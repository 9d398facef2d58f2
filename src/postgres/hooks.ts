import type { PendingQuery, Row, Sql } from 'postgres'

/** A query of postgres.js. `handler` sends the query; a part of another query is never sent. */
export interface Query extends PromiseLike<unknown> {
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

/** Returns `other`, which is prepared only if `query` is. */
export function alike<Q extends object>(query: object, other: Q): Q {
  const { prepare } = (query as Query).options
  if (prepare !== undefined) (other as Q & Query).options.prepare = prepare
  return other
}

/** Returns `sql` whose queries `run` sends, as parts of other queries. They must not be `unsafe` with parameters. */
export const redirected = (sql: Sql, run: (query: PendingQuery<Row[]>) => Promise<unknown>): Sql =>
  hookQueries(sql, (query) => {
    query.handler = () => run(query as unknown as PendingQuery<Row[]>).then(query.resolve, query.reject)
  })
