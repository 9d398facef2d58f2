import type { ImportCursor } from '../../drizzle/schema/imports.ts'
import { ImportError } from '../../modules/imports/items.ts'
import { undoProject } from '../../modules/undo/undo.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { HttpError } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'
import { forEachPage, SliceEnded, type Throttle, whilePagesAreFull } from '../throttle.ts'
import { recordCommitted } from './batches.ts'
import { openFailures } from './failures.ts'
import { ImportTaken, requireToken } from './import-row.ts'
import { insertKept } from './report.ts'
import { type ImportedChange, readBatch, type Undo } from './undo-events.ts'

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

/** Undoes the events whose rows nobody has changed. Returns all events, with the reasons why rows are kept. */
async function undoBatch(undo: Undo, batch: number): Promise<ImportedChange[]> {
  const changes = await readBatch(undo, batch)
  const wanted = changes.filter(({ isUndone, kept }) => !isUndone && kept === null)
  const rejected = (await undoSome(undo, wanted)).filter(({ kept }) => kept !== null)
  if (rejected.length === 0) return changes
  // Another worker may have undone the same events meanwhile.
  const undone = new Set((await readBatch(undo, batch)).flatMap((one) => (one.isUndone ? one.seq : [])))
  const reasons = new Map(rejected.map((one) => [one.seq, one]))
  return changes.map((one) => (undone.has(one.seq) ? one : (reasons.get(one.seq) ?? one)))
}

async function undoSome(undo: Undo, changes: ImportedChange[]): Promise<ImportedChange[]> {
  if (changes.length === 0) return []
  const { services, projectId: id, caller } = undo
  const seqs = changes.map(({ seq }) => seq)
  try {
    await services.runHere({ name: undoProject.name, input: { id, seqs }, caller })
    return changes
  } catch (error) {
    if (!isKept(error, changes)) throw error
    if (changes.length === 1)
      return changes.map((one) => ({
        ...one,
        kept: one.name ? `The ${one.name}: ${error.message}` : error.message,
      }))
    const middle = changes.length >> 1
    const later = await undoSome(undo, changes.slice(middle))
    return [...(await undoSome(undo, changes.slice(0, middle))), ...later]
  }
}

/** Only an ADMIN may undo changes of fields and of the project. Without the role EDITOR, the whole undo fails. */
const isKept = (error: unknown, changes: ImportedChange[]): error is HttpError =>
  error instanceof HttpError &&
  (error.status === 409 ||
    error.status === 410 ||
    (error.status === 403 && changes.some(({ entity }) => entity === 'field' || entity === 'project')))

/** Stores the result of a batch, and moves the cursor from `before` to it. */
async function storeUndone({ sql, importId }: Undo, before: number, seq: number, changes: ImportedChange[]) {
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
const deleteKept = (sql: Sql, importId: string, throttle: Throttle): Promise<void> =>
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
