import type { Socket } from 'node:net'
import { Stream } from 'node:stream'
import type { PendingQuery, Row, Sql, TransactionSql } from 'postgres'
import type { Distribution } from '../metrics/counts.ts'
import {
  connectionError,
  errorCode,
  isStatementTimeout,
  isTransient,
  markUnknownOutcome,
  retryDelay,
} from './errors.ts'

const tickMs = 100
/** Added to the statement timeout: a query without a reply for the sum of both times fails. */
const queryGraceMs = 700
/** Added to the statement timeout: a connection without data for the sum of both times counts as broken. */
const socketGraceMs = 300
const readOnly = '25006'

/** A pool of connections to one server. */
export interface Pool {
  statementMs: number
  /** Whether a query is sent again after a temporary error. */
  retries?: boolean
  /** The duration of each query is added, with its wait for a connection. */
  durations?: Distribution
}

/** Time is counted in ticks, which do not count while this process is frozen. */
const sockets = new Map<Socket, { pool: Pool; idleMs: number; isAnswered: boolean }>()
const queries = new Set<{ pool: Pool; waitedMs: number; fail(error: Error): void }>()
setInterval(tick, tickMs).unref()

/** The silence of a connection begins at the last reply, or at the first query after a reply. */
export function watchSocket(pool: Pool, socket: Socket): Socket {
  const state = { pool, idleMs: 0, isAnswered: false }
  sockets.set(socket, state)
  const begin = (isAnswered: boolean) => Object.assign(state, { idleMs: 0, isAnswered })
  const write = socket.write.bind(socket) as (...all: unknown[]) => boolean
  socket.write = (...all: unknown[]) => {
    if (state.isAnswered) begin(false)
    return write(...all)
  }
  return socket.on('data', () => begin(true)).on('close', () => sockets.delete(socket))
}

function closeSockets(pool: Pool, error?: Error): void {
  for (const [socket, { pool: own }] of sockets) if (own === pool) socket.destroy(error)
}

/** Begins a time limit. Returns a function that ends it, and returns false if the limit has passed. */
function beginLimit(pool: Pool, fail: (error: Error) => void): () => boolean {
  const query = { pool, waitedMs: 0, fail }
  queries.add(query)
  return () => queries.delete(query)
}

/**
 * Fails queries after their time limit, and closes silent connections: after the loss of a network route, postgres.js
 * would wait forever (porsager/postgres#1089).
 */
function tick(): void {
  for (const state of sockets.values()) state.idleMs += tickMs
  for (const query of queries) {
    query.waitedMs += tickMs
    if (query.waitedMs < query.pool.statementMs + queryGraceMs) continue
    queries.delete(query)
    closeSilent()
    query.fail(connectionError('QUERY_TIMEOUT', 'Postgres did not answer in time'))
  }
}

/** Closes silent connections of all pools. Never closes a connection on which a statement may still run. */
function closeSilent(): void {
  for (const [socket, { pool, idleMs }] of sockets)
    if (idleMs >= pool.statementMs + socketGraceMs)
      socket.destroy(connectionError('CONNECTION_SILENT', 'The connection to Postgres timed out'))
}

/**
 * Returns the query without a prepared statement: for rare queries with many variants, whose statements would replace
 * those of frequent queries.
 */
export function unprepared<Q extends object>(query: Q): Q {
  ;(query as Q & Query).options.prepare = false
  return query
}

export function withTimeouts(sql: Sql, pool: Pool, isPooled: boolean): Sql {
  const limits = { pool, isAlone: isPooled, mayWrite: !pool.retries }
  const send = (query: Query, create: () => Query) =>
    limitOnSend(query, limits, pool.retries ? create : undefined)
  // In a transaction, only COMMIT writes.
  const inTransaction = { pool, isAlone: false, mayWrite: false }
  const track = (tx: TransactionSql) => hookQueries(tx, (query) => limitOnSend(query, inTransaction))
  const end = (how: { timeout?: number }) => sql.end(how).finally(() => closeSockets(pool))
  return hookQueries(sql, send, { begin: limitTransactions(sql.begin, pool, track), end })
}

interface Limits {
  pool: Pool
  isAlone: boolean
  mayWrite: boolean
}

/** The time limit starts when the query is sent. Most query objects are never sent: they are parts of other queries. */
function limitOnSend(query: Query, limits: Limits, create?: () => Query): Query {
  const { handler, options } = query
  // A pooler releases its server after a reply, also if the first half of the next query was sent. `max_pipeline: 0`
  // would prevent this too, but would break transactions.
  if (limits.isAlone) options.onexecute ??= () => false
  const again = create && (() => limitOnSend(create(), limits))
  query.handler = (sent) => {
    track(query, limits, again)
    return handler(sent)
  }
  return query
}

function track(query: Query, { pool, mayWrite }: Limits, again?: () => Query): void {
  const { resolve, reject } = query
  const began = performance.now()
  let isOver = false
  const isFirstEnd = () => {
    endLimit()
    if (isOver) return false
    pool.durations?.addSince(began)
    return (isOver = true)
  }
  query.resolve = (rows) => {
    // COPY ends with its stream.
    if (rows instanceof Stream) resolve(rows.once('close', isFirstEnd))
    else if (isFirstEnd()) resolve(rows)
  }
  query.reject = (error) => {
    if (!isFirstEnd()) return
    // postgres.js sets `state` when it sends the query. After the time limit, postgres.js may still send the query, so
    // the query counts as sent.
    const isSent = query.state !== null || errorCode(error) === 'QUERY_TIMEOUT'
    markUnknownOutcome(error, isSent && mayWrite)
    if (errorCode(error) === readOnly)
      closeSockets(pool, connectionError('CONNECTION_RENEWED', 'The server is a standby'))
    if (again && isTransient(error) && !isStatementTimeout(error))
      retryDelay().then(again).then(resolve, reject)
    else reject(error)
  }
  const endLimit = beginLimit(pool, query.reject)
}

type Begin = Sql['begin']
type Work = (tx: TransactionSql) => unknown

/** Limits the times of BEGIN and of COMMIT or ROLLBACK, which postgres.js sends. `track` limits other statements. */
function limitTransactions(begin: Begin, pool: Pool, track: (tx: TransactionSql) => TransactionSql): Begin {
  const limited = async (...args: [Work] | [string, Work]) => {
    const work = args.pop() as Work
    const { promise: failed, reject: fail } = Promise.withResolvers<never>()
    let [isOver, isEnding] = [false, false]
    let thrown: unknown
    let endLimit = beginLimit(pool, fail)
    const run = async (tx: TransactionSql) => {
      if (!endLimit()) throw new Error('BEGIN waited too long for a connection')
      try {
        return await work(track(tx))
      } catch (error) {
        thrown = error
        throw error
      } finally {
        isEnding = true
        if (!isOver) endLimit = beginLimit(pool, fail)
      }
    }
    try {
      return await Promise.race([begin(args.join(''), run), failed])
    } catch (error) {
      if (error !== thrown) markUnknownOutcome(error, isEnding)
      throw error
    } finally {
      isOver = true
      endLimit()
    }
  }
  return limited as Begin
}

/** A query of postgres.js. `handler` sends the query; a part of another query is never sent. */
interface Query extends PromiseLike<unknown> {
  options: { prepare?: boolean; onexecute?: () => boolean }
  state: object | null
  handler(query: Query): unknown
  resolve(rows: unknown): void
  reject(error: unknown): void
}

/** Returns `sql` that calls `hook` with each new query. @param replaced methods of the returned `sql` */
function hookQueries<S extends object>(
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
