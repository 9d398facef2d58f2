import type { Sql } from '../database.ts'
import { isStandby, noteUnanswered } from './errors.ts'
import type { Silence } from './silence.ts'
import { whole } from './workarounds.ts'

interface Query {
  resolve: (rows: unknown[]) => void
  reject: (error: unknown) => void
  handler: (query: Query) => unknown
}

export interface Watching {
  silence: Silence
  /** How long a query may take in all, with its wait for a connection. */
  limitMs: number
  /** The server turned out to be a standby. */
  onStandby(): void
}

/** Every query gets a whole result or an error within its time, and the error says where it came from. */
export function watched(sql: Sql, by: Watching): Sql {
  const watch = <Q extends object>(query: Q) => {
    if ('handler' in query) mend(query as Q & Query, by)
    return query
  }
  const unsafe = (...args: Parameters<Sql['unsafe']>) => watch(sql.unsafe(...args))
  return new Proxy(sql, {
    apply: (target, self, args) => watch(Reflect.apply(target, self, args)),
    get: (target, name) => (name === 'unsafe' ? unsafe : Reflect.get(target, name)),
  })
}

/** Begins to count when the query is sent: part of another one, it never is. */
function mend(query: Query, { silence, limitMs, onStandby }: Watching): void {
  const { resolve, reject, handler } = query
  let inTime = () => {}
  query.handler = (sent) => {
    inTime = silence.limit(limitMs, query.reject)
    return handler(sent)
  }
  query.resolve = (rows) => {
    inTime()
    resolve(whole(rows))
  }
  query.reject = (error) => {
    inTime()
    noteUnanswered(error)
    if (isStandby(error)) onStandby()
    reject(error)
  }
}
