import { isRespacingSql } from '../../drizzle/schema/log.ts'
import { nilId } from '../../src/id-format.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { isOfBatch } from '../../src/log/read-undo-input.ts'
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

/** SQL for the events of a batch, with the labels and fields that they created or changed. */
const eventsOf = ({ sql, projectId }: Undo, batch: number) => sql`
  select e.seq, e.id, e.entity, e.task_id, l.id as label_id, f.key as field_key,
    case when e.entity = 'task' then e.after ->> 'externalId' end as external_id,
    coalesce(e.entity || ' "' || coalesce(l.name, f.name) || '"', p.name) as name
  from events e
  left join labels l on e.entity = 'label' and l.id = e.entity_id
  left join task_fields f on e.entity = 'field' and f.id = e.entity_id
  left join lateral (select 'description of the project' as name from projects
    where id = e.entity_id and e.entity = 'project' and description is not null) p on true
  where e.project_id = ${projectId} and ${isOfBatch(sql, projectId, batch)}
    and not (${sql.unsafe(isRespacingSql('e'))})`

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

/** The most tasks that a statement reads. */
const maxPageTasks = 5_000

interface Names {
  labelIds: string[]
  fieldKeys: string[]
}

/** Returns the labels and fields of a batch that tasks of the project have. */
export async function readUsedNames(undo: Undo, batch: number, pageTasks = maxPageTasks): Promise<Names> {
  const { sql, projectId } = undo
  let [left, after] = [await readNames(undo, batch), nilId]
  const used: Names = { labelIds: [], fieldKeys: [] }
  while (left.labelIds.length > 0 || left.fieldKeys.length > 0) {
    const [page] = await sql<(Names & { last: string | null })[]>`
      with page as materialized (
        select id, label_ids, fields from tasks where project_id = ${projectId} and id > ${after} order by id limit ${pageTasks})
      select (select id from page order by id desc limit 1) as last,
        array(select distinct l.id from page cross join lateral unnest(label_ids) l(id)
          where l.id = any(${left.labelIds}::uuid[])) as label_ids,
        array(select distinct f.key from page cross join lateral jsonb_object_keys(fields) f(key)
          where f.key = any(${left.fieldKeys}::text[])) as field_keys`
    const { last, labelIds, fieldKeys } = page!
    if (last === null) break
    used.labelIds.push(...labelIds)
    used.fieldKeys.push(...fieldKeys)
    left = { labelIds: without(left.labelIds, labelIds), fieldKeys: without(left.fieldKeys, fieldKeys) }
    after = last
  }
  return used
}

const without = (all: string[], some: string[]) => all.filter((one) => !some.includes(one))

async function readNames(undo: Undo, batch: number): Promise<Names> {
  const [names] = await undo.sql<Names[]>`
    with own as (${eventsOf(undo, batch)})
    select array(select label_id from own where label_id is not null) as label_ids,
      array(select field_key from own where field_key is not null) as field_keys`
  return names!
}
