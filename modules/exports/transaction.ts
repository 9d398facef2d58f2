import { concurrencyErrors, openConcurrencyLimit } from '../../src/admission/fair-queue.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { maxExports, type Sql } from '../../src/postgres/database.ts'
import type { Transaction } from '../../src/reads/standbys.ts'
import type { Versioned } from '../../src/reads/versions.ts'
import { errorCode, markUnknownOutcome } from '../../src/postgres/errors.ts'
import { unavailable } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'
import { zipped } from './response.ts'
import { Spool } from './spool.ts'

const what = 'exports'
/** The maximum number of concurrent downloads of a process. */
const maxDownloads = 64
/** How long an export waits before its response begins, and how long between the projects of an account. */
const firstWaitMs = 10_000
export const nextWaitMs = 120_000

/** Places for reading the database. Waiting exports get a place in the order of their arrival. */
export class Places {
  private waiting: (() => void)[] = []

  constructor(private free: number) {}

  get isWanted(): boolean {
    return this.waiting.length > 0
  }

  /** Returns a function that frees the place. @throws HttpError 503 if no place is free within `maxMs` */
  async take(maxMs: number): Promise<() => void> {
    if (this.free > 0) this.free--
    else await this.wait(maxMs)
    let isFree = false
    return () => {
      if (isFree) return
      isFree = true
      const next = this.waiting.shift()
      if (next) next()
      else this.free++
    }
  }

  private wait(maxMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => {
      this.waiting = this.waiting.filter((one) => one !== resolve)
      reject(unavailable('Too many exports are in progress; try again later'))
    }, maxMs)
    this.waiting.push(resolve)
    return promise.finally(() => clearTimeout(timer))
  }
}

export type ExportsInProgress = ReturnType<typeof openExportsInProgress>

/**
 * An export needs a place only while it reads the database. Its client may receive the file for longer, and then counts
 * as a download.
 */
export const openExportsInProgress = () => ({
  places: new Places(maxExports),
  downloads: openConcurrencyLimit({ what, ofAll: maxDownloads, ofAccount: 1 }),
  errors: concurrencyErrors(what),
})

/** This number of rows counts as one read, as in a page of a list. */
const rowsPerRead = 200
/** This number of reversed events counts as one read, as in other reads with `asOf`. */
const eventsPerRead = 25

/** An export that exceeds the remaining budget still runs, and empties it. @throws HttpError 429 for an empty budget */
export async function charge(
  { limits }: Pick<Services, 'limits'>,
  caller: Caller,
  rows: number,
  reversedEvents = 0,
): Promise<void> {
  const cost = Math.ceil(rows / rowsPerRead + reversedEvents / eventsPerRead)
  if (cost > 0) await limits.budgets?.reads.takeMore(caller, cost)
}

/**
 * A transaction is idle while the export waits for its client. The idle timeout is longer than this wait, so it only
 * ends transactions of lost processes. The other settings make Postgres read rows from indexes in the order of the
 * file: the first rows arrive at once, and Postgres never sorts all rows.
 */
const settings = `
  set local idle_in_transaction_session_timeout = '45s'; set local statement_timeout = '60s';
  set local jit = off; set local plan_cache_mode = force_custom_plan; set local cursor_tuple_fraction = 0.001;
  set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_hashjoin = off;
  set local enable_mergejoin = off; set local enable_sort = off;
  set local max_parallel_workers_per_gather = 0; set local random_page_cost = 1.1`

/** Marks the error of a lost connection, so that the response is 503. */
function asTemporary(error: unknown): unknown {
  if (errorCode(error) !== '') markUnknownOutcome(error)
  return error
}

type Servers = Pick<Services, 'database' | 'standbys'>

/**
 * Opens a transaction when a place is free. All reads use one snapshot. It needs a connection until `close`, which also
 * frees the place. @param project may be read from a standby with its state. @throws HttpError 503
 */
export async function openTransaction(
  { database, standbys }: Servers,
  places: Pick<Places, 'take'>,
  project: Versioned | undefined,
  maxWaitMs: number,
): Promise<Transaction> {
  const free = await places.take(maxWaitMs)
  try {
    const begun = standbys && project && standbys.begin({ projects: [project] }, openIn)
    const { sql, close } = await (begun ?? openIn(database.exports))
    return { sql, close: () => close().finally(free) }
  } catch (error) {
    free()
    throw error
  }
}

async function openIn(pool: Sql): Promise<Transaction> {
  const opened = Promise.withResolvers<Sql>()
  const closed = Promise.withResolvers<void>()
  const ended = pool.begin('isolation level repeatable read read only', async (own) => {
    const sql = own as never as Sql
    await sql.unsafe(settings)
    opened.resolve(sql)
    await closed.promise
  })
  const over = ended.then(
    () => {},
    (error: unknown) => opened.reject(asTemporary(error)),
  )
  const close = () => {
    closed.resolve()
    return over
  }
  return { sql: await opened.promise, close }
}

/**
 * Writes texts that one transaction reads to a temporary file. So the transaction is as long as the reads, even if the
 * client of the file is slow. `read` returns the texts, and what the response needs before them.
 */
export async function openSpooled<Begun extends { texts: AsyncGenerator<string> }>(
  servers: Servers,
  places: Pick<Places, 'take' | 'isWanted'>,
  project: Versioned | undefined,
  read: (sql: Sql) => Promise<Begun>,
): Promise<Begun & { spool: Spool }> {
  let reading: Transaction | undefined
  try {
    reading = await openTransaction(servers, places, project, firstWaitMs)
    const begun = await read(reading.sql)
    const spool = await Spool.open(places)
    void spool.fill(zipped(begun.texts)).then(reading.close)
    return { ...begun, spool }
  } catch (error) {
    await reading?.close()
    throw asTemporary(error)
  }
}
