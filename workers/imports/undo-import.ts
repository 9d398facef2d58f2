import { isRespacingSql } from '../../drizzle/schema/log.ts'
import { ImportError } from '../../modules/imports/items.ts'
import { undoProject } from '../../modules/undo/undo.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { isOfBatch } from '../../src/log/read-undo-input.ts'
import { observedType } from '../../src/model/events.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { HttpError } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'
import { forEachPage, SliceEnded, type Throttle } from '../throttle.ts'
import { insertKept, recordCommitted } from './batches.ts'
import { failureOf, ImportTaken, openRunSlice, requireToken } from './import-row.ts'

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
  const lines = results.flatMap(({ externalId, kept, isFirst, isWhole }) =>
    kept !== null && (isFirst || !isWhole) ? { row: null, externalId, outcome: 'kept', message: kept } : [],
  )
  await undo.sql.begin(async (transaction) => {
    const tx = transaction as unknown as Sql
    const moved = await tx`
      update imports set cursor = jsonb_build_object('step', 'undo', 'n', ${batch}::bigint),
        undone = undone + ${tasks.length - keptTasks}, kept = kept + ${keptTasks}
      where id = ${undo.importId} and undo_state = 'running' and (cursor ->> 'n')::bigint = ${before} returning id`
    if (moved.length === 0) throw new ImportTaken()
    await insertKept(tx, undo.importId, lines)
  })
}

interface ReadEvent {
  seq: number
  entity: string
  externalId: string | null
  title: string | null
  /** Such as `label "bug"`, or `description and settings of the project`. Null for other rows, and for deleted rows. */
  name: string | null
  /** The first event of the import in its task. Each task is counted once, with this event. */
  isFirst: boolean
  isUndone: boolean
  /** The import created the task. */
  isCreated: boolean
  isMoved: boolean
  /** Tasks have the label, or values of the field. */
  isUsed: boolean
  /** The latest changes of the task besides those of the import, the latest first: the seq, and the seq that the change undoes. */
  changes: [number, number | null][] | null
}

/** An event of the import. */
interface ImportedEvent extends ReadEvent {
  /** The whole task is kept, and its line in the report names the reason. */
  isWhole: boolean
  /** The reason why the row is kept; null if it can be undone. */
  kept: string | null
}

/** The maximum number of `changes` that are read for a task. */
const maxChanges = 200

/**
 * Reads the events of a batch. A task that the import created is kept as a whole if somebody has changed a part of it.
 * The caller may not see the present values of a task that is now in another project.
 */
export async function readBatch({ sql, importId, projectId }: Undo, batch: number): Promise<ImportedEvent[]> {
  // As a join, or with `=` for the project, the condition could read all events of the project for each task, because
  // Postgres expects few rows of a project that is younger than its statistics.
  const isOwn = sql`(x.project_id is not distinct from ${projectId}
    and exists (select from import_batches where import_id = ${importId} and seq = x.batch))`
  const events = await sql<ReadEvent[]>`
    with own as materialized (
      select e.seq, e.entity, e.entity_id, e.task_id, e.after ->> 'externalId' as external_id,
        e.before ? 'description' as describes, e.before ? 'textEdits' as sets from events e
      where e.project_id = ${projectId} and ${isOfBatch(sql, projectId, batch)} and not (${sql.unsafe(isRespacingSql('e'))})),
    of_task as materialized (
      select o.task_id, f.seq as first, coalesce(c.is_created, false) as is_created, changes
      from (select distinct task_id from own where task_id is not null) o
      cross join lateral (select x.seq from events x where x.task_id = o.task_id and ${isOwn} order by x.id limit 1) f
      left join lateral (select x.entity = 'task' and x.before is null and ${isOwn} as is_created from events x
        where x.task_id = o.task_id order by x.id limit 1) c on true
      cross join lateral (select json_agg(json_build_array(x.seq, x.undoes) order by x.seq desc) as changes from (
        select x.seq, x.undoes from events x
        where x.task_id = o.task_id and x.project_id is not distinct from ${projectId}
          and x.type not in ('task.due', ${observedType}) and not ${isOwn} and not (${sql.unsafe(isRespacingSql('x'))})
        order by x.id desc limit ${maxChanges}) x) x),
    used as materialized (
      select distinct n.name from tasks t cross join lateral (
        select unnest(t.label_ids)::text union all select jsonb_object_keys(t.fields)) n(name)
      where t.project_id = ${projectId} and exists (select from own where entity in ('label', 'field')))
    select o.seq::float8 as seq, o.entity, t.title, coalesce(h.is_created, false) as is_created, h.changes,
      coalesce(h.first = o.seq, false) as is_first,
      coalesce(t.project_id <> ${projectId}, false) as is_moved,
      case when t.project_id = ${projectId} then t.external_id when o.entity = 'task' then o.external_id end as external_id,
      coalesce(t.id, l.id, f.id, p.id) is null as is_undone,
      exists (select from used where name = coalesce(l.id::text, f.key)) as is_used,
      case when p.id is not null then 'description and settings of the project'
        else o.entity || ' "' || coalesce(l.name, f.name) || '"' end as name
    from own o
    left join of_task h on h.task_id = o.task_id
    left join tasks t on t.id = o.task_id
    left join labels l on o.entity = 'label' and l.id = o.entity_id
    left join task_fields f on o.entity = 'field' and f.id = o.entity_id
    left join projects p on o.entity = 'project' and p.id = o.entity_id
      and (o.describes and p.description is not null or o.sets and p.text_edits is not null)
    order by o.seq`
  return events.map((event) => {
    const { seq, entity, isCreated, isMoved, isUsed, name } = event
    const { seqs, undone } = withoutUndone(event.changes ?? [])
    const isWhole = isCreated && (isMoved || seqs.length > 0)
    const isUndone = event.isUndone || undone.has(seq)
    const use = isUsed ? `Tasks have ${entity === 'field' ? 'values of ' : ''}the ${name}` : null
    const kept = isWhole ? changeReason(event, seqs) : use
    return { ...event, isWhole, isUndone, kept }
  })
}

/** Returns the seqs of changes, and those of undone events. A change that was undone, and its undo, do not count. */
function withoutUndone(changes: [number, number | null][]) {
  const [seqs, undone]: [number[], Set<number>] = [[], new Set()]
  for (const [seq, undoes] of changes) {
    if (undone.has(seq)) continue
    if (undoes === null) seqs.unshift(seq)
    else undone.add(undoes)
  }
  return { seqs, undone }
}

function changeReason({ isMoved, title }: ReadEvent, seqs: number[]): string {
  if (isMoved) return 'Somebody has moved the task to another project'
  const more = seqs.length > 5 ? ` and ${seqs.length - 5} more` : ''
  return `Somebody has changed the task "${title}" since: seq ${seqs.slice(0, 5).join(', ')}${more}`
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
