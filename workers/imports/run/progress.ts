import type { ImportStep } from '../../../drizzle/schema/imports.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import { ImportTaken } from './import-row.ts'
import type { Run } from './run.ts'

/** The steps in their order, with the share of the work that each step has. */
const weights: Record<ImportStep, number> = {
  read: 0.2,
  nest: 0.05,
  labels: 0.01,
  tasks: 0.39,
  subtasks: 0.1,
  comments: 0.2,
  links: 0.04,
  order: 0.01,
  end: 0,
}
const stepOrder = Object.keys(weights) as ImportStep[]

/** @param part the part of the step that is done, from 0 to 1 */
function progressAt(step: ImportStep, part: number): number {
  const before = stepOrder.slice(0, stepOrder.indexOf(step)).reduce((sum, one) => sum + weights[one], 0)
  return before + weights[step] * Math.min(part, 1)
}

export const showProgress = ({ sql, running }: Run, step: ImportStep, part: number) =>
  sql`update imports set progress = ${progressAt(step, part)} where id = ${running.id}`

/**
 * Moves the cursor, and commits `work` in the same transaction. The commit is durable: after a crash of Postgres, the
 * undo of a cancelled import still needs the numbers of the batches.
 * @param part the part of the cursor's step that is done
 * @throws ImportTaken if another worker has moved the cursor, or the import was cancelled
 */
export async function moveCursor(
  run: Run,
  cursor: { step: ImportStep; n: number },
  part: number,
  work?: (tx: Sql) => Promise<unknown>,
): Promise<void> {
  const { sql, running } = run
  const [moved] = await sql.begin(async (tx) => {
    // The statements of the transaction are sent together.
    const [moved] = await Promise.all([
      tx<{ state: string }[]>`
        update imports set cursor = ${JSON.stringify(cursor)}::text::jsonb, progress = ${progressAt(cursor.step, part)}
        where id = ${running.id} and cursor = ${JSON.stringify(running.cursor)}::text::jsonb
        returning state`,
      work?.(tx as unknown as Sql),
    ])
    if (moved.length === 0) throw new ImportTaken()
    return moved
  })
  running.cursor = cursor
  if (moved!.state !== 'running') throw new ImportTaken()
}

/** @param next default: the step after this step */
export const endStep = (
  run: Run,
  step: ImportStep,
  work?: (tx: Sql) => Promise<unknown>,
  next = stepOrder[stepOrder.indexOf(step) + 1]!,
): Promise<void> => moveCursor(run, { step: next, n: 0 }, 0, work)
