import { ImportError } from '../../modules/imports/items.ts'
import { undoProject } from '../../modules/undo/undo.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { HttpError } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'
import { forEachPage, SliceEnded, type Throttle } from '../throttle.ts'
import { recordCommitted } from './batches.ts'
import { failureOf, openRunSlice } from './failures.ts'
import { ImportTaken, requireToken } from './import-row.ts'
import { insertKept } from './report.ts'
import { type ImportedEvent, readBatch, type Undo } from './undo-events.ts'

/** The time between two checks whether the import's own job has ended. */
const waitMs = 250
/** The position before the latest batch. */
const start = Number.MAX_SAFE_INTEGER

/** Undoes the batches of an import, the latest first. Keeps the tasks that somebody has changed since. */
export function openUndoImport(services: Services) {
  const sql = services.database.background
  const runSlice = openRunSlice(services.log)
  return ({ importId = '', caller = '{}' }: Record<string, string>, throttle: Throttle): Promise<void> => {
    const undo = { services, sql, importId, caller: JSON.parse(caller) }
    return runSlice(importId, async () => {
      const error = await undoImport(undo, throttle).catch(failureOf)
      if (error === undefined) return
      await sql`
        update imports set undo_state = ${error === null ? 'done' : 'failed'}, error = ${withUndoError(sql, sql`${error}::text`)}
        where id = ${importId} and (undo_state = 'running' or (undo_state = 'queued' and ${error}::text is not null))`
    })
  }
}

/** Returns undefined if the undo has ended before, and null if this slice has ended it. */
async function undoImport(undo: Omit<Undo, 'projectId'>, throttle: Throttle): Promise<null | undefined> {
  const { sql, importId, caller } = undo
  if (await isEnding(sql, importId)) throw new SliceEnded(waitMs)
  await recordCommitted(sql, importId)
  // Deletes the `kept` lines of an earlier undo: at most 10,001.
  await sql`
    with begun as (
      update imports set undo_state = 'running', cursor = jsonb_build_object('step', 'undo', 'n', ${start}::bigint),
        undone = 0, kept = 0
      where id = ${importId} and undo_state = 'queued' returning id)
    delete from import_lines where import_id = (select id from begun) and outcome = 'kept'`
  const [begun] = await sql<{ projectId: string; n: number }[]>`
    select project_id, (cursor ->> 'n')::float8 as n from imports where id = ${importId} and undo_state = 'running'`
  if (!begun) return undefined
  const { projectId, n } = begun
  await requireToken(sql, caller)
  await forEachPage(throttle, n, (before) => undoNext({ ...undo, projectId }, before))
  return null
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

/** Undoes the batch before a batch, and returns it. Returns undefined after the first batch. */
async function undoNext(undo: Undo, before: number): Promise<number | undefined> {
  const { sql, importId, projectId } = undo
  const [batches] = await sql<{ earliest: number | null; latest: number; isExpired: boolean }[]>`
    select b.*, exists (select from projects where id = ${projectId})
      and not exists (select from events where project_id = ${projectId} and seq = b.earliest) as is_expired
    from (select min(seq)::float8 as earliest, max(seq)::float8 as latest from import_batches
      where import_id = ${importId} and seq < ${before}) b`
  const { earliest, latest, isExpired } = batches!
  if (earliest === null) return undefined
  // The number of a batch is the seq of its first event, and events expire in the order of their seqs.
  if (isExpired)
    throw new ImportError(
      `The ${before === start ? '' : 'rest of the '}import cannot be undone, because its history has expired`,
    )
  await storeUndone(undo, before, latest, await undoBatch(undo, latest))
  return latest
}

/** Undoes the events whose rows nobody has changed. Returns all events, with the reasons why rows are kept. */
async function undoBatch(undo: Undo, batch: number): Promise<ImportedEvent[]> {
  const events = await readBatch(undo, batch)
  const free = events.filter(({ isUndone, kept }) => !isUndone && kept === null)
  const reasons = await undoSome(undo, free)
  if (reasons.size === 0) return events
  // Another worker may have undone the same events meanwhile.
  const undone = new Set((await readBatch(undo, batch)).flatMap((one) => (one.isUndone ? one.seq : [])))
  return events.map((one) => (undone.has(one.seq) ? one : { ...one, kept: reasons.get(one.seq) ?? one.kept }))
}

/** Returns the reasons why rows are kept, by the seqs of their events. */
async function undoSome(undo: Undo, events: ImportedEvent[]): Promise<Map<number, string>> {
  const [only] = events
  if (!only) return new Map()
  const { services, projectId: id, caller } = undo
  const seqs = events.map(({ seq }) => seq)
  try {
    await services.runHere({ name: undoProject.name, input: { id, seqs }, caller })
    return new Map()
  } catch (error) {
    if (!isKept(error, events)) throw error
    const { message } = error
    if (events.length === 1)
      return new Map([[only.seq, only.name ? `The ${only.name}: ${message}` : message]])
    const middle = events.length >> 1
    const later = await undoSome(undo, events.slice(middle))
    return new Map([...later, ...(await undoSome(undo, events.slice(0, middle)))])
  }
}

/** Only an ADMIN may undo changes of fields and of the project. Without the role EDITOR, the whole undo fails. */
const isKept = (error: unknown, events: ImportedEvent[]): error is HttpError =>
  error instanceof HttpError &&
  (error.status === 409 ||
    error.status === 410 ||
    (error.status === 403 && events.some(({ entity }) => entity === 'field' || entity === 'project')))

/** Stores the result of a batch, and moves the cursor from `before` to it. */
async function storeUndone({ sql, importId }: Undo, before: number, seq: number, events: ImportedEvent[]) {
  const tasks = events.filter(({ isFirst }) => isFirst)
  const kept = tasks.filter((one) => one.kept !== null).length
  const lines = events.filter(({ kept, isFirst, isWhole }) => kept !== null && (isFirst || !isWhole))
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
