import type { ImportStep } from '../../../drizzle/schema/imports.ts'
import type { ImportOperation } from '../../../modules/imports/command/operations.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import { forEachPage } from '../../throttle.ts'
import { insertBatches, insertLines } from './lines.ts'
import { moveCursor } from '../run/progress.ts'
import type { FinishedRow, PreparedRow } from './prepared-row.ts'
import { runOperations } from './run-operations.ts'
import type { Run } from '../run/run.ts'

export interface BatchStep<P extends PreparedRow> {
  step: ImportStep
  last: number
  /** Reads and prepares the next rows, while the previous rows are imported. */
  prepare(after: number): Promise<P[]>
  /** For dry runs: the operations of earlier batches that these rows need, because they were not committed. */
  prelude?(prepared: P[]): ImportOperation[] | Promise<ImportOperation[]>
  /** Stores the outcomes, in the transaction that moves the cursor. */
  store(tx: Sql, finished: FinishedRow<P>[]): Promise<unknown>
}

/** Runs the operations of a step in batches. An interrupted batch may run again, and then changes nothing. */
export async function runBatches<P extends PreparedRow>(run: Run, spec: BatchStep<P>): Promise<void> {
  const { running, throttle, services } = run
  const { step, last, prepare, prelude, store } = spec
  let next = prepare(running.cursor.n)
  await forEachPage(throttle, running.cursor.n, async () => {
    const prepared = await next
    const n = prepared.at(-1)?.n
    if (n === undefined) return undefined
    next = prepare(n)
    // The next page throws the error.
    next.catch(() => {})
    const before = running.dryRun ? await prelude?.(prepared) : undefined
    const { finished, batches } = await runOperations(run, step, prepared, before)
    await moveCursor(run, { step, n }, n / last, (tx) =>
      Promise.all([
        insertLines(tx, running.id, linesOf(finished)),
        insertBatches(tx, running.id, batches),
        store(tx, finished),
      ]),
    )
    services.counts.imports.rows += prepared.length
    return n
  })
}

/** The rows that were not imported exactly. */
const linesOf = (finished: FinishedRow[]) =>
  finished
    .filter(({ notes, outcome }) => notes.message || outcome === 'rejected')
    .map(({ row, externalId, outcome, rowOutcome = outcome, notes }) => ({
      ...{ row, externalId, outcome: rowOutcome, message: notes.message },
    }))
