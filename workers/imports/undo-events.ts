import { isRespacingSql } from '../../drizzle/schema/log.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { isOfBatch } from '../../src/log/read-undo-input.ts'
import { observedType } from '../../src/model/events.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Services } from '../../src/services.ts'

/** An undo of an import by a caller. */
export interface Undo {
  services: Services
  sql: Sql
  importId: string
  projectId: string
  caller: Caller
}

interface ReadEvent {
  seq: number
  entity: string
  taskId: string | null
  externalId: string | null
  /** The first event of the import in its task. Each task is counted once, with this event. */
  isFirst: boolean
  isUndone: boolean
  /** Such as `label "bug"`, or `description and settings of the project`. Null for other rows, and for deleted rows. */
  name: string | null
  /** The import created the task. */
  isCreated: boolean
  isMoved: boolean
  title: string | null
  /** The id of a label, or the key of a field. */
  usedAs: string | null
}

export interface ImportedEvent extends ReadEvent {
  /** The whole task is kept, and its line in the report names the reason. */
  isWhole: boolean
  /** The reason why the row is kept; null if it can be undone. */
  kept: string | null
}

/**
 * Reads the events of a batch. A task that the import created is kept as a whole if somebody has changed a part of it.
 * The caller may not see the present values of a task that is now in another project.
 */
export async function readBatch(undo: Undo, batch: number): Promise<ImportedEvent[]> {
  const events = await readEvents(undo, batch)
  const [changesOf, used] = await Promise.all([readChanges(undo, events), readUsed(undo, events)])
  return events.map((event) => {
    const { entity, taskId, isCreated, isMoved, name, usedAs } = event
    const { seqs, undone } = changesOf(taskId)
    const isWhole = isCreated && (isMoved || seqs.length > 0)
    const isUndone = event.isUndone || undone.has(event.seq)
    const isUsed = used.has(usedAs ?? '')
    const use = isUsed ? `Tasks have ${entity === 'field' ? 'values of ' : ''}the ${name}` : null
    const kept = isWhole ? changeReason(event, seqs) : use
    return { ...event, isWhole, isUndone, kept: event.isUndone ? null : kept }
  })
}

function changeReason({ isMoved, title }: ReadEvent, seqs: number[]): string {
  if (isMoved) return 'Somebody has moved the task to another project'
  const more = seqs.length > 5 ? ` and ${seqs.length - 5} more` : ''
  return `Somebody has changed the task "${title}" since: seq ${seqs.slice(0, 5).join(', ')}${more}`
}

const readEvents = (undo: Undo, batch: number) => {
  const { sql, projectId } = undo
  return sql<ReadEvent[]>`
    with own as materialized (
      select e.seq, e.entity, e.entity_id, e.task_id, e.after ->> 'externalId' as external_id,
        e.before ? 'description' as describes, e.before ? 'textEdits' as sets from events e
      where e.project_id = ${projectId} and ${isOfBatch(sql, projectId, batch)} and not (${sql.unsafe(isRespacingSql('e'))})),
    of_task as materialized (
      select o.task_id, f.seq as first, coalesce(c.is_created, false) as is_created
      from (select distinct task_id from own where task_id is not null) o
      cross join lateral (select x.seq from events x where x.task_id = o.task_id and ${isOwn(undo)} order by x.id limit 1) f
      left join lateral (select x.entity = 'task' and x.before is null and ${isOwn(undo)} as is_created from events x
        where x.task_id = o.task_id order by x.id limit 1) c on true)
    select o.seq::float8 as seq, o.entity, o.task_id, t.title, coalesce(h.is_created, false) as is_created,
      coalesce(h.first = o.seq, false) as is_first,
      coalesce(t.project_id <> ${projectId}, false) as is_moved,
      case when t.project_id = ${projectId} then t.external_id when o.entity = 'task' then o.external_id end as external_id,
      coalesce(t.id, l.id, f.id, p.id) is null as is_undone, coalesce(l.id::text, f.key) as used_as,
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
}

/**
 * SQL: whether the import wrote the event `x`. As a join, or with `=` for the project, the condition could read all events
 * of the project for each task, because Postgres expects few rows of a project that is younger than its statistics.
 */
const isOwn = ({ sql, importId, projectId }: Undo) => sql`(x.project_id is not distinct from ${projectId}
  and exists (select from import_batches where import_id = ${importId} and seq = x.batch))`

/** The maximum number of events of others that are read of a task. */
const maxChanges = 200

/** Returns a function that finds the changes of a task since the import. */
async function readChanges(undo: Undo, events: ReadEvent[]) {
  const { sql, projectId } = undo
  const taskIds = [...new Set(events.flatMap(({ taskId }) => taskId ?? []))]
  const rows = await sql<{ taskId: string; seq: number; undoes: number | null }[]>`
    select q.task_id, x.seq::float8 as seq, x.undoes::float8 as undoes from unnest(${taskIds}::uuid[]) q(task_id)
    cross join lateral (
      select x.seq, x.undoes from events x
      where x.task_id = q.task_id and x.project_id is not distinct from ${projectId} and x.type not in ('task.due', ${observedType})
        and not ${isOwn(undo)} and not (${sql.unsafe(isRespacingSql('x'))})
      order by x.id desc limit ${maxChanges}) x
    order by x.seq desc`
  const byTask = Map.groupBy(rows, (one) => one.taskId)
  /** Returns the seqs of changes by others, and those of undone events. A change that was undone, and its undo, do not count. */
  return (taskId: string | null) => {
    const [seqs, undone]: [number[], Set<number>] = [[], new Set()]
    for (const { seq, undoes } of byTask.get(taskId ?? '') ?? []) {
      if (undone.has(seq)) continue
      if (undoes === null) seqs.unshift(seq)
      else undone.add(undoes)
    }
    return { seqs, undone }
  }
}

/** Returns the ids of labels and the keys of fields in `events` that tasks of the project have. */
async function readUsed({ sql, projectId }: Undo, events: ReadEvent[]): Promise<Set<string>> {
  const names = events.flatMap(({ usedAs }) => usedAs ?? [])
  if (names.length === 0) return new Set()
  const used = await sql<{ name: string }[]>`
    select distinct n.name from tasks t cross join lateral (
      select unnest(t.label_ids)::text union all select jsonb_object_keys(t.fields)) n(name)
    where t.project_id = ${projectId} and n.name = any(${names}::text[])`
  return new Set(used.map(({ name }) => name))
}
