import { isRespacingSql } from '../../drizzle/schema/log.ts'
import { nilId } from '../../src/id-format.ts'
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

export interface ImportedEvent {
  seq: number
  entity: string
  taskId: string | null
  externalId: string | null
  /** The first event of the import in its task. Each task is counted once, with this event. */
  isFirst: boolean
  isUndone: boolean
  /** The whole task is kept, and its line in the report names the reason. */
  isWhole: boolean
  /** Such as `label "bug"`, or `description and settings of the project`. Null for other rows, and for deleted rows. */
  name: string | null
  /** The reason why the row is kept; null if it can be undone. */
  kept: string | null
}

interface ReadEvent extends Omit<ImportedEvent, 'isWhole' | 'kept'> {
  /** The import created the task. */
  isCreated: boolean
  isMoved: boolean
  title: string | null
  /** The id of a label, or the key of a field. */
  usedAs: string | null
}

/**
 * Reads the events of a batch. A task that the import created is kept as a whole if somebody has changed a part of it.
 * The caller may not see the present values of a task that is now in another project.
 */
export async function readBatch(undo: Undo, batch: number): Promise<ImportedEvent[]> {
  const events = await readEvents(undo, batch)
  const [changes, used] = await Promise.all([readChanges(undo, events), readUsed(undo, events)])
  return events.map((event) => {
    const { changed, undone } = changes(event.taskId)
    const isWhole = event.isCreated && (event.isMoved || changed.length > 0)
    const kept = isWhole ? changeReason(event, changed) : useReason(event, used)
    const isUndone = event.isUndone || undone.has(event.seq)
    return { ...event, isWhole, isUndone, kept: event.isUndone ? null : kept }
  })
}

function changeReason({ isMoved, title }: ReadEvent, changed: number[]): string {
  if (isMoved) return 'Somebody has moved the task to another project'
  const more = changed.length > 5 ? ` and ${changed.length - 5} more` : ''
  return `Somebody has changed the task "${title}" since: seq ${changed.slice(0, 5).join(', ')}${more}`
}

const useReason = ({ entity, name, usedAs }: ReadEvent, used: ReadonlySet<string>): string | null =>
  used.has(usedAs ?? '') ? `Tasks have ${entity === 'field' ? 'values of ' : ''}the ${name}` : null

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

interface Changes {
  /** The seqs of changes by others. A change that was undone, and its undo, do not count. */
  changed: number[]
  /** The seqs of undone events. */
  undone: Set<number>
}

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
  const byTask = new Map<string, Changes>()
  for (const { taskId, seq, undoes } of rows) {
    if (!byTask.has(taskId)) byTask.set(taskId, { changed: [], undone: new Set() })
    const { changed, undone } = byTask.get(taskId)!
    if (undone.has(seq)) continue
    if (undoes === null) changed.unshift(seq)
    else undone.add(undoes)
  }
  return (taskId: string | null): Changes =>
    byTask.get(taskId ?? '') ?? { changed: [], undone: new Set<number>() }
}

/** The maximum number of tasks that a statement reads. */
const pageTasks = 5_000

/** Returns the ids of labels and the keys of fields in `events` that tasks of the project have. */
async function readUsed({ sql, projectId }: Undo, events: ReadEvent[]): Promise<Set<string>> {
  const used = new Set<string>()
  const names = new Set(events.flatMap(({ usedAs }) => usedAs ?? []))
  for (let after: string | null = nilId; after !== null && used.size < names.size;) {
    const [page]: { last: string | null; found: string[] }[] = await sql`
      with page as materialized (
        select id, label_ids, fields from tasks where project_id = ${projectId} and id > ${after} order by id limit ${pageTasks})
      select (select id from page order by id desc limit 1) as last,
        array(select distinct n.name from page cross join lateral (
            select unnest(label_ids)::text union all select jsonb_object_keys(fields)) n(name)
          where n.name = any(${[...names]}::text[])) as found`
    for (const name of page!.found) used.add(name)
    after = page!.last
  }
  return used
}
