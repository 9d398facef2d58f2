import type { ImportStep } from '../../../drizzle/schema/imports.ts'
import type { ImportOperation } from '../../../modules/imports/command/operations.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import { forEachPage } from '../../throttle.ts'
import { insertBatches, insertLines } from './lines.ts'
import { moveCursor } from '../run/progress.ts'
import type { Decided, Planned } from './planned.ts'
import { runOperations } from './run-operations.ts'
import type { Run } from '../run/run.ts'

export interface BatchStep<P extends Planned> {
  step: ImportStep
  last: number
  /** Reads and plans the next rows, while the rows before them are imported. */
  plan(after: number): Promise<P[]>
  /** The operations of earlier batches that a dry run has not committed. */
  prelude?(planned: P[]): ImportOperation[] | Promise<ImportOperation[]>
  /** Stores the outcomes, in the transaction that moves the cursor. */
  store(tx: Sql, decided: Decided<P>[]): Promise<unknown>
}

/** Runs the operations of a step in batches. After an interruption, the last batch may run again and changes nothing. */
export async function runBatches<P extends Planned>(run: Run, spec: BatchStep<P>): Promise<void> {
  const { row, throttle, services } = run
  const { step, last, plan, prelude, store } = spec
  let next = plan(row.cursor.n)
  await forEachPage(throttle, row.cursor.n, async () => {
    const planned = await next
    const n = planned.at(-1)?.n
    if (n === undefined) return undefined
    next = plan(n)
    // The next page throws the error.
    next.catch(() => {})
    const before = row.dryRun ? await prelude?.(planned) : undefined
    const { decided, batches } = await runOperations(run, step, planned, before)
    await moveCursor(run, { step, n }, n / last, (tx) =>
      Promise.all([
        insertLines(tx, row.id, linesOf(decided)),
        insertBatches(tx, row.id, batches),
        store(tx, decided),
      ]),
    )
    services.counts.imports.rows += planned.length
    return n
  })
}

/** The rows that were not imported exactly. */
const linesOf = (decided: Decided[]) =>
  decided
    .filter(({ notes, outcome }) => notes.message || outcome === 'rejected')
    .map(({ row, externalId, outcome, rowOutcome = outcome, notes }) => ({
      ...{ row, externalId, outcome: rowOutcome, message: notes.message },
    }))
