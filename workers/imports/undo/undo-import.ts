import type { ImportCursor } from '../../../drizzle/schema/imports.ts'
import { ImportError } from '../../../modules/imports/items.ts'
import type { Services } from '../../../src/services.ts'
import type { Sql, SqlPart } from '../../../src/postgres/database.ts'
import { forEachPage, SliceEnded, type Throttle } from '../../throttle.ts'
import { recordCommitted } from '../batches.ts'
import { openFailures } from '../failures.ts'
import { requireToken } from '../import-row.ts'
import type { Undo } from './events.ts'
import { deleteKept, storeUndone } from './store.ts'
import { undoBatch } from './undo-batch.ts'

type JobData = Record<string, string>

/** The time between two checks whether the import's own job has ended. */
const waitMs = 250
/** The position before the latest batch. */
const first: ImportCursor = { step: 'undo', n: Number.MAX_SAFE_INTEGER }

/** Undoes the batches of an import, the latest first. Keeps the tasks that somebody has changed since. */
export function openUndoImport(services: Services) {
  const sql = services.database.background
  const failures = openFailures(services.log)
  const runSlice = async (undo: Omit<Undo, 'projectId'>, throttle: Throttle): Promise<void> => {
    const { importId } = undo
    const position = { id: importId, cursor: first }
    const ended = await undoImport(undo, position, throttle).then(
      (isDone) => isDone && { state: 'done', error: null },
      (error: unknown) => ({ state: 'failed', error: failures.messageOf(position, error) }),
    )
    if (!ended) return
    await sql`
      update imports set undo_state = ${ended.state}, error = ${withUndoError(sql, sql`${ended.error}::text`)}
      where id = ${importId} and (undo_state = 'running' or (undo_state = 'queued' and ${ended.state}::text = 'failed'))`
    failures.forget(importId)
  }
  return ({ importId = '', caller = '{}' }: JobData, throttle: Throttle): Promise<void> => {
    const undo = { services, sql, importId, caller: JSON.parse(caller) }
    return failures.runSlice(importId, () => runSlice(undo, throttle))
  }
}

/** Returns false if the undo has ended before. */
async function undoImport(
  undo: Omit<Undo, 'projectId'>,
  position: { cursor: ImportCursor },
  throttle: Throttle,
): Promise<boolean> {
  const { sql, importId } = undo
  if (await isEnding(sql, importId)) throw new SliceEnded(waitMs)
  await recordCommitted(sql, importId)
  await deleteKept(sql, importId, throttle)
  const begun = await begin(sql, importId)
  if (!begun) return false
  position.cursor = begun.cursor
  await undoBatches({ ...undo, ...begun }, position, throttle)
  return true
}

const undoFailed = '. The undo failed: '

/** SQL for the error of a row of `imports`: why the import failed, and then why its undo failed. */
export const withUndoError = (sql: Sql, error: SqlPart): SqlPart => sql`
  nullif(concat_ws(${undoFailed}, case when state = 'failed' then split_part(error, ${undoFailed}, 1) end, ${error}), '')`

/** True while a worker may still commit a batch of a cancelled or failed import. */
async function isEnding(sql: Sql, importId: string): Promise<boolean> {
  const [job] = await sql`
    select from imports i join outbox o on o.project_id = i.project_id and o.data ->> 'importId' = i.id::text
    where i.id = ${importId} and i.state in ('cancelled', 'failed') and o.name = 'run-import' and o.parked_at is null`
  return job !== undefined
}

/** Starts a queued undo at the latest batch, or continues an undo. Returns undefined if the undo has ended. */
async function begin(sql: Sql, importId: string) {
  await sql`
    update imports set undo_state = 'running', cursor = ${JSON.stringify(first)}::text::jsonb, undone = 0, kept = 0
    where id = ${importId} and undo_state = 'queued'`
  const [row] = await sql<{ projectId: string; cursor: ImportCursor }[]>`
    select project_id, cursor from imports where id = ${importId} and undo_state = 'running'`
  return row
}

async function undoBatches(
  undo: Undo,
  position: { cursor: ImportCursor },
  throttle: Throttle,
): Promise<void> {
  await requireToken(undo.sql, undo.caller)
  if (position.cursor.n === first.n) await requireAllEvents(undo)
  await forEachPage(throttle, position.cursor.n, async (before) => {
    const { sql, importId } = undo
    const [batch] = await sql<{ seq: number }[]>`
      select seq::float8 as seq from import_batches where import_id = ${importId} and seq < ${before}
      order by seq desc limit 1`
    if (!batch) return undefined
    await requireEvents(undo, batch.seq, 'The rest of the import')
    await storeUndone(undo, before, batch.seq, await undoBatch(undo, batch.seq))
    position.cursor = { step: 'undo', n: batch.seq }
    return batch.seq
  })
}

async function requireAllEvents(undo: Undo): Promise<void> {
  const [earliest] = await undo.sql<{ seq: number }[]>`
    select seq::float8 as seq from import_batches where import_id = ${undo.importId} order by seq limit 1`
  if (earliest) await requireEvents(undo, earliest.seq, 'The import')
}

/**
 * The number of a batch is the seq of its first event, and events expire in the order of their seqs.
 * @throws ImportError if the batch has no longer all its events
 */
async function requireEvents({ sql, projectId }: Undo, batch: number, what: string): Promise<void> {
  const [expired] = await sql`
    select from projects where id = ${projectId}
      and not exists (select from events where project_id = ${projectId} and seq = ${batch})`
  if (expired) throw new ImportError(`${what} cannot be undone, because its history has expired`)
}
