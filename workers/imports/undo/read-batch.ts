import { isRespacingSql } from '../../../drizzle/schema/log.ts'
import { readUsedNames } from './used-names.ts'
import { eventsOf, type Undo } from './events.ts'

/** The most events of a task's history. Later changes of the task do not count. */
const maxHistory = 10_000

/** An event of the import. */
export interface ImportedChange {
  seq: number
  entity: string
  taskId: string | null
  externalId: string | null
  /** The first event of the import in its task. Each task is counted once, with this event. */
  isFirst: boolean
  isUndone: boolean
  /** The whole task is kept, and its line in the report names the reason. */
  isWhole: boolean
  /** Such as `label "bug"`, or `description of the project`. Null for other rows, and for deleted rows. */
  name: string | null
  /** The reason why the row is kept; null if it can be undone. */
  kept: string | null
}

/**
 * Reads the events of a batch. A task that the import created is kept as a whole if somebody has changed a part of it.
 * A change that was undone, and its undo, do not count. The caller may not see the present values of a task that is now
 * in another project.
 */
export async function readBatch(undo: Undo, batch: number): Promise<ImportedChange[]> {
  const { labelIds, fieldKeys } = await readUsedNames(undo, batch)
  return undo.sql<ImportedChange[]>`
  with own as materialized (${eventsOf(undo, batch)}),
  histories as materialized (${historiesOf(undo)})
  select o.seq::float8 as seq, o.entity, o.task_id, o.name,
    case when t.project_id = ${undo.projectId} then t.external_id else o.external_id end as external_id,
    coalesce(h.first_seq = o.seq, false) as is_first,
    case when o.task_id is null then o.name is null else t.id is null or coalesce(o.seq = any(h.undone), false) end as is_undone,
    coalesce(h.is_created and h.changed is not null, false) as is_whole,
    case when o.task_id is not null and t.id is null then null
      when h.is_created and t.project_id <> ${undo.projectId} then 'Somebody has moved the task to another project'
      when h.is_created and h.changed is not null then 'Somebody has changed the task "' || t.title || '" since: seq '
        || array_to_string(h.changed[:5], ', ') || coalesce(' and ' || nullif(cardinality(h.changed[6:]), 0) || ' more', '')
      when o.label_id = any(${labelIds}::uuid[]) then 'Tasks have the ' || o.name
      when o.field_key = any(${fieldKeys}::text[]) then 'Tasks have values of the ' || o.name
      end as kept
  from own o
  left join tasks t on t.id = o.task_id
  left join histories h on h.task_id = o.task_id
  order by o.seq`
}

/** SQL for the history of each task in `own`: the undone seqs, and in `changed` the seqs of changes by others. */
const historiesOf = (undo: Undo) => undo.sql`
  select o.task_id, h.first_seq, h.undone, h.is_created, h.changed
  from (select distinct task_id from own where task_id is not null) o
  cross join lateral (
    with history as (select * from events x where x.task_id = o.task_id order by x.id limit ${maxHistory}),
    redone as (select undoes as seq from history where undoes is not null),
    reversed as (select undoes as seq from history where undoes is not null and seq not in (select seq from redone))
    select min(x.seq) filter (where x.is_own) as first_seq,
      array_agg(x.undoes) filter (where x.undoes is not null) as undone,
      bool_or(x.is_own and x.entity = 'task' and x.before is null) as is_created,
      array_agg(x.seq order by x.seq) filter (where not x.is_own and not ${isOwn(undo, 'y')} and x.type <> 'task.due'
        and not (${undo.sql.unsafe(isRespacingSql('x'))})
        and x.seq not in (select seq from reversed)
        and (x.undoes is null or y.undoes is not null or x.seq in (select seq from redone))) as changed
    from (select *, ${isOwn(undo, 'history')} as is_own from history) x
    left join lateral (
      select undoes, batch from events where project_id = ${undo.projectId} and seq = x.undoes limit 1) y on true
    where x.project_id = ${undo.projectId}) h`

/**
 * SQL: whether the import wrote the event. As a join, this condition and the one on `y` could read all rows of the
 * project for each event, because Postgres expects few rows of a project that is younger than its statistics.
 */
const isOwn = ({ sql, importId }: Undo, event: 'history' | 'y') =>
  sql`exists (select from import_batches where import_id = ${importId} and seq = ${sql(event)}.batch)`
