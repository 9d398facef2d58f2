import type { Sql } from 'postgres'
import { newQueryCounts } from '../metrics/counts.ts'
import { errorCode, isTransient, markUnknownOutcome } from './errors.ts'
import type { IdleTimeouts } from './idle-timeouts.ts'
import { retryDelay } from './retries.ts'
import { withoutHoles } from './workarounds.ts'

interface Query extends PromiseLike<unknown[]> {
  resolve: (rows: unknown[]) => void
  reject: (error: unknown) => void
  handler: (query: Query) => unknown
}

export interface QueryOptions {
  idleTimeouts: IdleTimeouts
  retries?: boolean
  counts?: ReturnType<typeof newQueryCounts>
}
type Options = QueryOptions & { limitMs: number; onStandby(): void }

const readOnly = '25006'
const uncounted = newQueryCounts()

/** For rare queries with many variants: a prepared statement stays on its connection forever. */
export function unprepared<Q extends object>(query: Q): Q {
  ;(query as unknown as { options: { prepare: boolean } }).options.prepare = false
  return query
}

export function withTimeouts(sql: Sql, options: Options): Sql {
  const watch = <Q extends object>(createQuery: () => Q): Q => {
    const query = createQuery()
    if (!('handler' in query)) return query
    const again = () => onSend(createQuery() as Q & Query, options)
    return onSend(query as Q & Query, options, options.retries ? again : undefined)
  }
  const unsafe = (...args: Parameters<Sql['unsafe']>) => watch(() => sql.unsafe(...args))
  return new Proxy(sql, {
    apply: (target, self, args) => watch(() => Reflect.apply(target, self, args)),
    get: (target, name) => (name === 'unsafe' ? unsafe : Reflect.get(target, name)),
  })
}

/** The time limit starts when the query is sent. Most query objects are never sent: they are parts of other queries. */
function onSend<Q extends Query>(query: Q, options: Options, again?: () => Query): Q {
  const { handler } = query
  query.handler = (sent) => {
    track(query, options, again)
    return handler(sent)
  }
  return query
}

function track(query: Query, options: Options, again?: () => Query): void {
  const { resolve, reject } = query
  const { idleTimeouts, limitMs, onStandby, counts = uncounted } = options
  const began = performance.now()
  let isOver = false
  const isFirstEnd = () => {
    idleTimeouts.queries.delete(pending)
    if (isOver) return false
    counts.open--
    counts.seconds.addSince(began)
    return (isOver = true)
  }
  counts.open++
  query.resolve = (rows) => {
    if (isFirstEnd()) resolve(withoutHoles(rows))
  }
  query.reject = (error) => {
    if (!isFirstEnd()) return
    markUnknownOutcome(error)
    if (errorCode(error) === readOnly) onStandby()
    if (again && isTransient(error)) retryDelay().then(again).then(resolve, reject)
    else reject(error)
  }
  const pending = { limitMs, waitedMs: 0, fail: query.reject }
  idleTimeouts.queries.add(pending)
}
