import { isRespacingSql } from '../../drizzle/schema/log.ts'
import { ImportError } from '../../modules/imports/items.ts'
import { undoProject } from '../../modules/undo/undo.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { isOfBatch } from '../../src/log/undo-input.ts'
import { observedType } from '../../src/model/events.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { HttpError } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'
import { forEachPage, SliceEnded, type Throttle } from '../throttle.ts'
import { insertLines, maxLines, recordCommitted } from './batches.ts'
import { failureOf, ImportTaken, noteProgress, requireToken, runSlice } from './import-row.ts'

/** The time between two checks whether the import's own job has ended. */
const waitMs = 250
/** The position before the latest batch. */
const start = Number.MAX_SAFE_INTEGER

/** An undo of an import by a caller. */
interface Undo {
  services: Services
  sql: Sql
  importId: string
  projectId: string
  caller: Caller
}

/** Undoes the batches of an import, the latest first. Keeps the tasks that somebody has changed since. */
export function openUndoImport(services: Services) {
  const sql = services.database.background
  return ({ importId = '', caller = '{}' }: Record<string, string>, throttle: Throttle): Promise<void> => {
    const undo = { services, sql, importId, caller: JSON.parse(caller) }
    return runSlice(importId, async () => {
      const error = await undoImport(undo, throttle).catch((reason: unknown) => failureOf(importId, reason))
      if (error === undefined) return
      await sql`
        update imports set undo_state = ${error === null ? 'done' : 'failed'}, error = ${undoError(sql, sql`${error}::text`)}
        where id = ${importId} and (undo_state = 'running' or (undo_state = 'queued' and ${error}::text is not null))`
    })
  }
}

/** Returns undefined if the undo had ended before: another undo may begin meanwhile. */
async function undoImport(undo: Omit<Undo, 'projectId'>, throttle: Throttle): Promise<null | undefined> {
  const { sql, importId, caller } = undo
  // A worker may still commit a batch of a cancelled or failed import.
  const [job] = await sql`
    select from imports i join outbox o on o.project_id = i.project_id and o.data ->> 'importId' = i.id::text
    where i.id = ${importId} and i.state in ('cancelled', 'failed') and o.name = 'run-import' and o.parked_at is null`
  if (job) throw new SliceEnded(waitMs)
  await recordCommitted(sql, importId)
  // Deletes the `kept` lines of an earlier undo: at most 10,001.
  const [begun] = await sql<{ projectId: string; n: number }[]>`
    with begun as (
      update imports set undo_state = 'running', cursor = jsonb_build_object('step', 'undo', 'n', ${start}::bigint),
        undone = 0, kept = 0
      where id = ${importId} and undo_state = 'queued' returning *),
    deleted as (delete from import_lines where import_id = (select id from begun) and outcome = 'kept')
    select project_id, (cursor ->> 'n')::float8 as n from (
      select * from begun union all select * from imports where id = ${importId} and undo_state = 'running') i`
  if (!begun) return undefined
  const { projectId, n } = begun
  await requireToken(sql, caller)
  await forEachPage(throttle, n, (before) => undoNext({ ...undo, projectId }, before))
  return null
}

/** SQL for the error of a row of `imports`: why its undo failed, or else why the import failed. */
export const undoError = (sql: Sql, error: SqlPart): SqlPart =>
  sql`coalesce(${error}, case when state = 'failed' then error end)`

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
  await undoBatch(undo, before, latest)
  return latest
}

/** Undoes the events whose rows nobody has changed, and moves the cursor from `before` to the batch. */
async function undoBatch(undo: Undo, before: number, batch: number): Promise<void> {
  const events = await readBatch(undo, batch)
  const free = events.filter(({ isUndone, kept }) => !isUndone && kept === null)
  const reasons = await undoSome(undo, free)
  // Another worker may have undone the same events meanwhile.
  const found = reasons.size > 0 ? await readBatch(undo, batch) : events
  const results = found.map((one) => ({
    ...one,
    kept: one.isUndone ? null : (one.kept ?? reasons.get(one.seq) ?? null),
  }))
  const tasks = results.filter(({ isFirst }) => isFirst)
  const keptTasks = tasks.filter(({ kept }) => kept !== null).length
  const lines = results.flatMap(({ externalId, kept, isFirst, isChanged }) =>
    kept !== null && (isFirst || !isChanged) ? { row: null, externalId, outcome: 'kept', message: kept } : [],
  )
  await undo.sql.begin(async (transaction) => {
    const tx = transaction as unknown as Sql
    const moved = await tx`
      update imports set cursor = jsonb_build_object('step', 'undo', 'n', ${batch}::bigint),
        undone = undone + ${tasks.length - keptTasks}, kept = kept + ${keptTasks}
      where id = ${undo.importId} and undo_state = 'running' and (cursor ->> 'n')::bigint = ${before} returning id`
    if (moved.length === 0) throw new ImportTaken()
    await insertLines(tx, undo.importId, lines, 2 * maxLines)
  })
  noteProgress(undo.importId)
}

/** An event of the import. */
interface ImportedEvent {
  seq: number
  externalId: string | null
  /** Such as `label "bug"`. Null for rows without a name. */
  name: string | null
  /** The first event of the import in its task. Each task is counted once, with this event. */
  isFirst: boolean
  isUndone: boolean
  /** Somebody has changed the task since, so the whole task is kept, and its line in the report names this reason. */
  isChanged: boolean
  /** The reason why the row is kept; null if it can be undone. */
  kept: string | null
}

/**
 * Reads the events of a batch. A change that was undone, and its undo, do not count as changes of the task, unless the
 * undo was undone. The caller may not see the present values of a task that is now in another project.
 */
export function readBatch({ sql, importId, projectId }: Undo, batch: number): Promise<ImportedEvent[]> {
  // With `=`, Postgres could read all events of the project for each task, because Postgres expects few rows of a
  // project that is younger than its statistics.
  const isInProject = sql`x.project_id is not distinct from ${projectId}`
  const isOwn = sql`exists (select from import_batches where import_id = ${importId} and seq = x.batch)`
  return sql<ImportedEvent[]>`
    with recursive own as materialized (
      select e.*, e.entity || ' "' || (e.after ->> 'name') || '"' as name from events e
      where e.project_id = ${projectId} and ${isOfBatch(sql, projectId, batch)} and not (${sql.unsafe(isRespacingSql('e'))})),
    own_tasks as materialized (select distinct task_id from own where task_id is not null),
    undos as materialized (
      select max(seq) as seq, undoes from (
        select x.seq, undoes from own_tasks o
        cross join lateral (select seq, undoes from events x where x.task_id = o.task_id and ${isInProject} and undoes is not null) x
        union all select seq, undoes from events
        where project_id = ${projectId} and seq > ${batch} and undoes is not null and exists (select from own where task_id is null)) x
      group by undoes),
    redone as (
      select undoes, seq, 1 as undos from undos u where not exists (select from undos where seq = u.undoes)
      union all select r.undoes, u.seq, r.undos + 1 from redone r join undos u on u.undoes = r.seq),
    undone as materialized (select undoes from redone group by undoes having max(undos) % 2 = 1),
    of_task as materialized (
      select o.task_id, f.seq as first, exists (
        select from events x where x.task_id = o.task_id and x.id > f.id and ${isInProject} and not ${isOwn}
          and x.undoes is null and x.seq not in (select undoes from undone)
          and x.type not in ('task.due', ${observedType}) and not (${sql.unsafe(isRespacingSql('x'))})) as is_changed
      from own_tasks o
      cross join lateral (
        select x.seq, x.id from events x where x.task_id = o.task_id and ${isInProject} and ${isOwn} order by x.id limit 1) f),
    used as materialized (
      select distinct n.name from tasks t cross join lateral (
        select unnest(t.label_ids)::text union all select jsonb_object_keys(t.fields)) n(name)
      where t.project_id = ${projectId} and exists (select from own where entity in ('label', 'field')))
    select o.seq::float8 as seq, o.name, coalesce(h.first = o.seq, false) as is_first,
      coalesce(h.is_changed, false) as is_changed,
      case when t.project_id = ${projectId} then t.external_id when o.entity = 'task' then o.after ->> 'externalId' end as external_id,
      o.task_id is not null and t.id is null or exists (select from undone where undoes = o.seq) as is_undone,
      case when h.is_changed then 'Somebody has changed the task since'
        when coalesce(o.after ->> 'key', o.entity_id::text) in (select name from used) then 'Tasks use the ' || o.name end as kept
    from own o
    left join of_task h on h.task_id = o.task_id
    left join tasks t on t.id = o.task_id
    order by o.seq`
}

/** Undoes the events whose rows nobody has changed. Returns the reasons why rows are kept, by the seqs of their events. */
async function undoSome(undo: Undo, events: ImportedEvent[]): Promise<Map<number, string>> {
  const [only] = events
  if (!only) return new Map()
  const { services, projectId: id, caller } = undo
  const seqs = events.map(({ seq }) => seq)
  try {
    await services.runHere({ name: undoProject.name, input: { id, seqs }, caller })
    return new Map()
  } catch (error) {
    if (!isKept(error)) throw error
    const { message } = error
    if (events.length === 1)
      return new Map([[only.seq, only.name ? `The ${only.name}: ${message}` : message]])
    const middle = events.length >> 1
    const later = await undoSome(undo, events.slice(middle))
    return new Map([...later, ...(await undoSome(undo, events.slice(0, middle)))])
  }
}

const isKept = (error: unknown): error is HttpError =>
  error instanceof HttpError && (error.status === 409 || error.status === 410)
