import type { Socket } from 'node:net'
import { Stream } from 'node:stream'
import type { Sql, TransactionSql } from 'postgres'
import type { Distribution } from '../metrics/family.ts'
import {
  connectionError,
  errorCode,
  isStatementTimeout,
  isTransient,
  markUnknownOutcome,
  retryDelay,
} from './errors.ts'
import type { StatementLimit } from './statement-limit.ts'
import { sendAlone, withoutHoles } from './workarounds.ts'

const tickMs = 100
const readOnly = '25006'

interface PendingQuery {
  limitMs: number
  waitedMs: number
  fail(error: Error): void
}

type SocketState = { idleMs: number; limitMs: number; isAnswered: boolean }

/**
 * Fails queries after their time limit, and closes silent connections: after the loss of a network route, postgres.js
 * would wait forever (porsager/postgres#1089). Ticks do not count time during which this process was frozen.
 */
export class IdleTimeouts {
  private readonly sockets = new Map<Socket, SocketState>()
  private readonly queries = new Set<PendingQuery>()
  private readonly timer = setInterval(() => this.tick(), tickMs)

  constructor() {
    this.timer.unref()
  }

  /** @param limitMs longer than the statement timeout; starts at the last reply, or at the first query after a reply */
  watch(socket: Socket, limitMs: number): void {
    const state = { idleMs: 0, limitMs, isAnswered: false }
    this.sockets.set(socket, state)
    const begin = (isAnswered: boolean) => {
      state.idleMs = 0
      state.isAnswered = isAnswered
    }
    const write = socket.write.bind(socket) as (...all: unknown[]) => boolean
    socket.write = (...all: unknown[]) => {
      if (state.isAnswered) begin(false)
      return write(...all)
    }
    socket.on('data', () => begin(true))
    socket.on('close', () => this.sockets.delete(socket))
  }

  /** Begins a time limit. Returns a function that ends it. */
  beginLimit(limitMs: number, fail: (error: Error) => void): () => void {
    const pending = { limitMs, waitedMs: 0, fail }
    this.queries.add(pending)
    return () => void this.queries.delete(pending)
  }

  close(): void {
    clearInterval(this.timer)
    for (const socket of this.sockets.keys()) socket.destroy()
  }

  private tick(): void {
    for (const state of this.sockets.values()) state.idleMs += tickMs
    for (const query of this.queries) {
      query.waitedMs += tickMs
      if (query.waitedMs < query.limitMs) continue
      this.queries.delete(query)
      this.closeIdle()
      query.fail(connectionError('QUERY_TIMEOUT', 'Postgres did not answer in time'))
    }
  }

  /** Never closes a connection on which a statement may still run. */
  private closeIdle(): void {
    for (const [socket, { idleMs, limitMs }] of this.sockets) {
      if (idleMs < limitMs) continue
      this.sockets.delete(socket)
      socket.destroy(connectionError('CONNECTION_SILENT', 'The connection to Postgres timed out'))
    }
  }
}

interface Query extends PromiseLike<unknown[]> {
  resolve: (rows: unknown[] | Stream) => void
  reject: (error: unknown) => void
  handler: (query: Query) => unknown
  options: { prepare?: boolean }
  state: object | null
}

export interface QueryOptions {
  idleTimeouts: IdleTimeouts
  retries?: boolean
  /** The duration of each query is added, with its wait for a connection. */
  durations?: Distribution
}
type Options = QueryOptions & {
  isPooled: boolean
  limitMs: number
  statements?: StatementLimit | undefined
  /** False in a transaction, where only COMMIT writes. */
  mayWrite: boolean
  onStandby(): void
  isOver?(): boolean
}

/**
 * Returns the query without a prepared statement: for rare queries with many variants, whose statements would replace
 * those of frequent queries.
 */
export function unprepared<Q extends object>(query: Q): Q {
  ;(query as Q & Query).options.prepare = false
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
  const { idleTimeouts, limitMs } = options
  const inTransaction = {
    ...options,
    retries: false,
    isPooled: false,
    mayWrite: false,
    statements: undefined,
  }
  const begin = limitTransactions(
    sql.begin,
    (fail) => idleTimeouts.beginLimit(limitMs, fail),
    (tx, isOver) =>
      withTimeouts(tx as unknown as Sql, { ...inTransaction, isOver }) as unknown as TransactionSql,
  )
  const watched = new Map<string | symbol, unknown>([
    ['unsafe', unsafe],
    ['begin', begin],
  ])
  return new Proxy(sql, {
    apply: (target, self, args) => watch(() => Reflect.apply(target, self, args)),
    get: (target, name) => watched.get(name) ?? Reflect.get(target, name),
  })
}

/** The time limit starts when the query is sent. Most query objects are never sent: they are parts of other queries. */
function onSend<Q extends Query>(query: Q, options: Options, again?: () => Query): Q {
  const { handler } = query
  if (options.isPooled) sendAlone(query)
  else options.statements?.watch(query as never)
  query.handler = (sent) => {
    // postgres.js would write to a socket that is null: the process would end.
    if (options.isOver?.())
      return query.reject(connectionError('CONNECTION_CLOSED', 'The connection was closed'))
    track(query, options, again)
    return handler(sent)
  }
  return query
}

function track(query: Query, options: Options, again?: () => Query): void {
  const { resolve, reject } = query
  const { idleTimeouts, limitMs, onStandby, statements, durations } = options
  const began = performance.now()
  let isOver = false
  const isFirstEnd = () => {
    endLimit()
    if (isOver) return false
    durations?.addSince(began)
    statements?.ended(query as never)
    return (isOver = true)
  }
  query.resolve = (rows) => {
    // COPY ends with its stream.
    if (rows instanceof Stream) resolve(rows.once('close', isFirstEnd))
    else if (isFirstEnd()) resolve(withoutHoles(rows))
  }
  query.reject = (error) => {
    if (!isFirstEnd()) return
    // postgres.js sets `state` when it sends the query. After the time limit, postgres.js may still send the query, so
    // the query counts as sent.
    const isSent = query.state !== null || errorCode(error) === 'QUERY_TIMEOUT'
    markUnknownOutcome(error, isSent && options.mayWrite)
    if (errorCode(error) === readOnly) onStandby()
    if (again && isTransient(error) && !isStatementTimeout(error))
      retryDelay().then(again).then(resolve, reject)
    else reject(error)
  }
  const endLimit = idleTimeouts.beginLimit(limitMs, query.reject)
}

type Begin = Sql['begin']
type Work = (tx: TransactionSql) => unknown
/** Begins a time limit, and returns a function that ends it. */
type BeginLimit = (fail: (error: Error) => void) => () => void

/** Limits the times of BEGIN and of COMMIT or ROLLBACK, which postgres.js sends. `track` limits other statements. */
function limitTransactions(
  begin: Begin,
  beginLimit: BeginLimit,
  track: (tx: TransactionSql, isOver: () => boolean) => TransactionSql,
): Begin {
  const limited = (...args: [Work] | [string, Work]) => {
    const work = args.pop() as Work
    return new Promise((resolve, reject) => {
      let [isOver, isEnding] = [false, false]
      let thrown: unknown
      const fail = (error: Error) => {
        isOver = true
        reject(error)
      }
      let endLimit = beginLimit(fail)
      const run = async (tx: TransactionSql) => {
        endLimit()
        // BEGIN waited for a connection until after its limit.
        if (isOver) throw new Error('The transaction began too late')
        try {
          return await work(track(tx, () => isOver))
        } catch (error) {
          thrown = error
          throw error
        } finally {
          isEnding = true
          endLimit = beginLimit(fail)
        }
      }
      const end = (error: unknown) => {
        isOver = true
        if (error !== thrown) markUnknownOutcome(error, isEnding)
        reject(error)
      }
      void begin(args.join(''), run)
        .then(resolve, end)
        .finally(() => endLimit())
    })
  }
  return limited as Begin
}
