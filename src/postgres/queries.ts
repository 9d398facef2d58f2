import type { Sql } from 'postgres'
import type { noQueries } from '../metrics/counts.ts'
import { isPassing, isStandby, noteUnanswered, rest } from './errors.ts'
import type { Silence } from './silence.ts'
import { whole } from './workarounds.ts'

interface Query extends PromiseLike<unknown[]> {
  resolve: (rows: unknown[]) => void
  reject: (error: unknown) => void
  handler: (query: Query) => unknown
}

interface Watching {
  silence: Silence
  limitMs: number
  /** A query that fails in passing is repeated once. */
  repeats: boolean
  onStandby(): void
  counts: ReturnType<typeof noQueries>
}

/** For rare queries of many forms: a prepared statement stays on every connection for good. */
export function unprepared<Q extends object>(query: Q): Q {
  ;(query as unknown as { options: { prepare: boolean } }).options.prepare = false
  return query
}

/** Every query gets a whole result or an error within its time. */
export function watched(sql: Sql, by: Watching): Sql {
  const watch = <Q extends object>(ask: () => Q): Q => {
    const query = ask()
    if (!('handler' in query)) return query
    const again = () => mend(ask() as Q & Query, by)
    return mend(query as Q & Query, by, by.repeats ? again : undefined)
  }
  const unsafe = (...args: Parameters<Sql['unsafe']>) => watch(() => sql.unsafe(...args))
  return new Proxy(sql, {
    apply: (target, self, args) => watch(() => Reflect.apply(target, self, args)),
    get: (target, name) => (name === 'unsafe' ? unsafe : Reflect.get(target, name)),
  })
}

/** Begins when the query is sent. Most queries are parts of others and never sent, so this costs next to nothing. */
function mend<Q extends Query>(query: Q, by: Watching, again?: () => Query): Q {
  const { handler } = query
  query.handler = (sent) => {
    begin(query, by, again)
    return handler(sent)
  }
  return query
}

function begin(query: Query, { silence, limitMs, onStandby, counts }: Watching, again?: () => Query): void {
  const { resolve, reject } = query
  const began = performance.now()
  let isOver = false
  const isFirstEnd = () => {
    silence.over(wait)
    if (isOver) return false
    counts.open--
    counts.seconds.addSince(began)
    return (isOver = true)
  }
  counts.open++
  query.resolve = (rows) => {
    if (isFirstEnd()) resolve(whole(rows))
  }
  query.reject = (error) => {
    if (!isFirstEnd()) return
    noteUnanswered(error)
    if (isStandby(error)) onStandby()
    if (again && isPassing(error)) rest().then(again).then(resolve, reject)
    else reject(error)
  }
  const wait = { limitMs, waitedMs: 0, late: query.reject }
  silence.begin(wait)
}
