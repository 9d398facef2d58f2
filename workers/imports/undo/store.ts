import type { Sql } from '../../../src/postgres/database.ts'
import { type Throttle, whilePagesAreFull } from '../../throttle.ts'
import { insertKept } from '../report.ts'
import { ImportTaken } from '../import-row.ts'
import type { Undo } from './events.ts'
import type { ImportedChange } from './read-batch.ts'

/** Stores the result of a batch, and moves the cursor from `before` to it. */
export async function storeUndone(
  { sql, importId }: Undo,
  before: number,
  seq: number,
  changes: ImportedChange[],
) {
  const tasks = changes.filter(({ isFirst }) => isFirst)
  const kept = tasks.filter((one) => one.kept !== null).length
  const lines = changes.filter(({ kept, isFirst, isWhole }) => kept !== null && (isFirst || !isWhole))
  await sql.begin(async (transaction) => {
    const tx = transaction as unknown as Sql
    const moved = await tx`
      update imports set cursor = jsonb_build_object('step', 'undo', 'n', ${seq}::bigint),
        undone = undone + ${tasks.length - kept}, kept = kept + ${kept}
      where id = ${importId} and undo_state = 'running' and (cursor ->> 'n')::bigint = ${before} returning id`
    if (moved.length === 0) throw new ImportTaken()
    await insertKept(
      tx,
      importId,
      lines.map(({ externalId, kept }) => ({ row: null, externalId, outcome: 'kept', message: kept! })),
    )
  })
}

/** Deletes the `kept` lines of an earlier undo, the last lines of the report, while the new undo is queued. */
export const deleteKept = (sql: Sql, importId: string, throttle: Throttle): Promise<void> =>
  whilePagesAreFull(throttle, async () => {
    // Another worker may have begun the new undo. The lock keeps the lines of this worker.
    const { count } = await sql`
      with queued as materialized (
        select id from imports where id = ${importId} and undo_state = 'queued' for update),
      last as (select ctid, outcome from import_lines where import_id = ${importId} order by n desc limit ${throttle.batchRows})
      delete from import_lines where exists (select from queued)
        and ctid = any(array(select ctid from last where outcome = 'kept'))`
    return count
  })
