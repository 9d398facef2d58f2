import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { errorCode, markUnknownOutcome } from '../../src/postgres/errors.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import type { ExportsInProgress } from './in-progress.ts'

/**
 * The idle timeout is longer than a client may take for a part of the file, if the export waits for it. So it only ends the transactions of lost
 * processes. The other settings make Postgres read rows from indexes in the order of the file: the first rows arrive at
 * once, and Postgres never sorts all rows.
 */
const settings = `
  set local idle_in_transaction_session_timeout = '45s'; set local statement_timeout = '60s';
  set local jit = off; set local plan_cache_mode = force_custom_plan; set local cursor_tuple_fraction = 0.001;
  set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_hashjoin = off;
  set local enable_mergejoin = off; set local enable_sort = off;
  set local max_parallel_workers_per_gather = 0; set local random_page_cost = 1.1`

export interface Transaction {
  sql: Sql
  close(): Promise<void>
}

/** Marks the error of a lost connection, so that the response is 503. */
export function asTemporary(error: unknown): unknown {
  if (errorCode(error) !== '') markUnknownOutcome(error)
  return error
}

/** Opens a transaction when a place is free. `close` also frees the place. @throws HttpError 503 */
export async function openTransactionAtPlace(
  { places }: ExportsInProgress,
  pool: Sql,
  maxWaitMs: number,
): Promise<Transaction> {
  const free = await places.take(maxWaitMs)
  try {
    const { sql, close } = await openTransaction(pool)
    return { sql, close: () => close().finally(free) }
  } catch (error) {
    free()
    throw error
  }
}

/** Opens a transaction whose reads all use one snapshot. It needs a connection until `close`. */
function openTransaction(pool: Sql): Promise<Transaction> {
  return new Promise((resolve, reject) => {
    const ended = pool.begin('isolation level repeatable read read only', async (own) => {
      const sql = own as never as Sql
      await sql.unsafe(settings)
      await new Promise<void>((end) =>
        resolve({
          sql,
          async close() {
            end()
            await ended.catch(() => {})
          },
        }),
      )
    })
    ended.catch((error: unknown) => reject(asTemporary(error)))
  })
}

/** With the longest texts, a page of rows takes 16 MB. */
const pageRows = 200

/** The rows of a query, in pages. Postgres computes the next page while this process uses the current page. */
export class CursorRows<Row> {
  private rows: Row[] = []
  private at = 0
  private page: Promise<Row[]>

  private constructor(private readonly fetchPage: () => Promise<Row[]>) {
    this.page = this.fetchNext()
  }

  /** @param query SQL for the rows. @param prepare is called for each page */
  static async open<Stored extends object, Row>(
    sql: Sql,
    name: string,
    query: SqlPart,
    prepare: (rows: Stored[]) => Promise<Row[]> | Row[],
  ): Promise<CursorRows<Row>> {
    const declared = unprepared(sql`declare ${sql(name)} no scroll cursor for ${query}`).execute()
    // The first page is requested at once. If the declaration fails, `await` throws its error.
    const rows = new CursorRows(async () =>
      prepare(await sql.unsafe<Stored[]>(`fetch ${pageRows} from "${name}"`)),
    )
    await declared
    return rows
  }

  private fetchNext(): Promise<Row[]> {
    const next = this.fetchPage()
    // `fill` throws the error.
    next.catch(() => {})
    return next
  }

  /** Undefined if `fill` must be called, or if there are no more rows. */
  get current(): Row | undefined {
    return this.rows[this.at]
  }

  next(): Row | undefined {
    return this.rows[++this.at]
  }

  /** Returns false if there are no more rows. */
  async fill(): Promise<boolean> {
    if (this.at < this.rows.length) return true
    this.rows = await this.page
    this.at = 0
    if (this.rows.length === 0) return false
    this.page = this.fetchNext()
    return true
  }
}
