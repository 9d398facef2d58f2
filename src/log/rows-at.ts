import { getTableName } from 'drizzle-orm'
import { maxId } from '../id-format.ts'
import type { ChildOfTask, Entity } from '../model/entities.ts'
import { observedType } from '../model/events.ts'
import { definitionOf, model, type ReferenceField, personIdOf } from '../model/model.ts'
import { referencesOf } from '../model/references.ts'
import { type Column, columnsOf, columnList } from '../postgres/columns.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import type { Snapshot } from './as-of.ts'
import type { EntityDefinition } from '../model/definition.ts'

/** The version may be SQL, such as a column of the query. */
export type At = Pick<Snapshot, 'projectId'> & { version: number | SqlPart }

/** SQL for the id of the first event after a snapshot. Rows that changed later have this event id or a higher one. */
export const firstLaterEventId = (sql: Sql, { projectId, version }: At) => sql`
  coalesce((select id from events where project_id = ${projectId} and seq > ${version}::bigint
    order by seq limit 1), ${maxId}::uuid)`

/**
 * SQL for the events of a task. `offset 0` makes Postgres read them by the index of tasks: for a project that is younger
 * than the statistics, Postgres expects one event, and would read all events of the project.
 */
export const eventsOfTask = (sql: Sql, taskId: string | SqlPart, range: SqlPart): SqlPart =>
  sql`(select * from events where task_id = ${taskId} and ${range} offset 0)`

/** With a snapshot, the sources are the unchanged rows, and the earlier states of rows that changed later. */
export function rowSources(sql: Sql, entity: Entity, snapshot?: At, taskId?: string | SqlPart): SqlPart[] {
  const { table } = definitionOf(entity)
  const rows = `select ${columnsOf(table).map(({ name }) => name)} from ${getTableName(table)}`
  if (!snapshot) return [sql.unsafe(`(${rows})`)]
  const { fields, record } = recordColumns(sql, entity)
  const { projectId, version } = snapshot
  const laterEvents = taskId
    ? eventsOfTask(sql, taskId, sql`id >= ${firstLaterEventId(sql, snapshot)}`)
    : sql`(select * from events where seq > ${version}::bigint)`
  return [
    sql`(${sql.unsafe(rows)} where event_id < ${firstLaterEventId(sql, snapshot)})`,
    // `before` of a row's first event after the snapshot contains its state at the snapshot; it is null for a row
    // created later. With a plain join, the planner might read all events of the project.
    sql`(select ${fields} from (select distinct on (entity_id) project_id, seq from ${laterEvents} e
        where project_id = ${projectId} and entity = ${entity} and type <> ${observedType} order by entity_id, id) f
      cross join lateral (select before, after from events
        where project_id = f.project_id and seq = f.seq limit 1) e
      cross join lateral jsonb_to_record(coalesce(e.after, '{}') || e.before) as r(${record})
      where e.before is not null)`,
  ]
}

/** SQL for the rows of all parts. @param select returns the SQL for one part, by default the part itself */
export const unionOf = (sql: Sql, parts: SqlPart[], select = (part: SqlPart): SqlPart => part): SqlPart =>
  parts.map(select).reduce((all, one): SqlPart => sql`${all} union all ${one}`)

export function firstRows(
  sql: Sql,
  sources: SqlPart[],
  { where, by, limit }: { where: SqlPart; by: SqlPart; limit: number },
): SqlPart {
  const firstOf = (rows: SqlPart) =>
    sql`(select t.* from ${rows} t where ${where} order by ${by} limit ${limit})`
  return sql`(${unionOf(sql, sources, firstOf)})`
}

export function recordColumns(sql: Sql, entity: Entity) {
  const columns = columnsOf(definitionOf(entity).table)
  return {
    fields: sql.unsafe(columns.map((column) => `${loggedValue(column)} as ${column.name}`).join(', ')),
    record: sql.unsafe(columns.map(({ key, type }) => `"${key}" ${type}`).join(', ')),
  }
}

/** SQL for a column's value in an event. If the event is older than the column, the value is the column's default. */
function loggedValue({ key, type, fallback }: Column): string {
  if (fallback === undefined) return `r."${key}"`
  const isList = Array.isArray(fallback) && type !== 'jsonb'
  const text = isList ? `{${fallback.join()}}` : type === 'jsonb' ? JSON.stringify(fallback) : fallback
  return `coalesce(r."${key}", '${text}'::${type})`
}

/** SQL for the columns of `alias`, without references to rows that do not exist (or did not at the snapshot). */
export function visibleColumns(sql: Sql, entity: Entity, alias: string, snapshot?: Snapshot): SqlPart {
  const { table } = definitionOf(entity)
  const fields = referencesOf(entity)
  if (fields.length === 0) return columnList(sql, table, alias)
  return columnsOf(table)
    .map(({ key, name }): SqlPart => {
      if (key === 'eventId') return sql`${visibleEventId(sql, entity, alias, snapshot)} as event_id`
      const field = fields.find((one) => one.name === key)
      return field
        ? sql`${visibleIds(sql, field, alias, referencedIds(sql, entity, field, alias, snapshot))} as ${sql(name)}`
        : sql`${sql(`${alias}.${name}`)}`
    })
    .reduce((all, one): SqlPart => sql`${all}, ${one}`)
}

/**
 * SQL for a row's event id. If references are hidden, a suffix follows, with one bit for each reference. A row whose
 * references are all null costs no look-up.
 */
export function visibleEventId(sql: Sql, entity: Entity, alias: string, snapshot?: Snapshot): SqlPart {
  const column = sql`${sql(`${alias}.event_id`)}`
  const fields = referencesOf(entity)
  if (fields.length === 0) return column
  const references = fields.map((field, k): SqlPart => {
    const ids = referencedIds(sql, entity, field, alias, snapshot)
    return sql`select ${sql.unsafe(String(k))} as k, r.n, r.is_present from (${ids}) r`
  })
  const isPlain = sql.unsafe(fields.map((field) => `${alias}.${field.column.name} is null`).join(' and '))
  const bits = sql`string_agg(f.is_present::int::text, '' order by f.k, f.n)`
  return sql`case when ${isPlain} then ${column}::text else
    (select ${column}::text || case when bool_and(f.is_present) then '' else coalesce('.' || ${bits}, '') end from (${unionOf(sql, references)}) f) end`
}

/** SQL for the ids, or keys and values, in a reference field, in their order, each with `is_present`: whether it is shown. */
function referencedIds(
  sql: Sql,
  entity: Entity,
  field: ReferenceField,
  alias: string,
  snapshot?: Snapshot,
): SqlPart {
  const { to, column, isMany, values } = field
  const value = sql(`${alias}.${column.name}`)
  const isPresent = values
    ? rowAccepts(sql, field, alias, snapshot)
    : rowExists(sql, entity, to, alias, snapshot)
  const parts = values
    ? sql`jsonb_each(${value}) with ordinality x(id, value, n)`
    : isMany
      ? sql`unnest(${value}) with ordinality x(id, n)`
      : sql`(select ${value} as id, 1 as n) x`
  return sql`select x.*, ${isPresent} as is_present from ${parts} where x.id is not null`
}

function rowExists(sql: Sql, entity: Entity, to: Entity, alias: string, snapshot?: Snapshot): SqlPart {
  if (snapshot) {
    const isTask = to === 'task'
    const isOne = isTask ? sql`and id = x.id` : sql``
    const ids = (source: SqlPart) =>
      sql`select id from ${source} r where project_id = ${snapshot.projectId} ${isOne}`
    const rows = unionOf(sql, rowSources(sql, to, snapshot, isTask ? sql`x.id` : undefined), ids)
    return isTask ? sql`exists (${rows})` : sql`x.id = any(array(${rows}))`
  }
  const project =
    definitionOf(entity).parent === 'task'
      ? sql`(select project_id from tasks where id = ${sql(`${alias}.task_id`)})`
      : sql`${sql(`${alias}.project_id`)}`
  // `offset 0` keeps Postgres from reading all rows of the project for each row that refers to one of them.
  return sql`exists (select from ${sql(getTableName(definitionOf(to).table))} r
    where r.id = x.id and r.project_id = ${project} offset 0)`
}

/** SQL for the shown value of a reference field: an id, a list of ids, or an object of values; null if there are none. */
function visibleIds(sql: Sql, { isMany, column, values }: ReferenceField, alias: string, ids: SqlPart) {
  const shown = sql`from (${ids}) f where f.is_present`
  if (!isMany) return sql`(select f.id ${shown})`
  const list = values
    ? sql`jsonb_object_agg(f.id, f.value)`
    : sql`coalesce(array_agg(f.id order by f.n), '{}')`
  return sql`case when ${sql(`${alias}.${column.name}`)} is not null then (select ${list} ${shown}) end`
}

/** SQL that is true if the project has a row with the key `x.id` that accepts the value `x.value`. */
function rowAccepts(sql: Sql, { to, values }: ReferenceField, alias: string, snapshot?: Snapshot): SqlPart {
  const { key, fitsSql } = values!
  const { table } = definitionOf(to)
  const columns = columnsOf(table)
  const keyName = columns.find((one) => one.key === key)!.name
  const fits = sql`${sql(`r.${keyName}`)} = x.id and ${sql.unsafe(fitsSql)}`
  if (!snapshot)
    return sql`exists (select from ${sql(getTableName(table))} r
      where r.project_id = ${sql(`${alias}.project_id`)} and ${fits})`
  const ofProject = (source: SqlPart) =>
    sql`select * from ${source} o where project_id = ${snapshot.projectId}`
  const rows = unionOf(sql, rowSources(sql, to, snapshot), ofProject)
  // Postgres evaluates the inner query once for all rows of a list, because it does not depend on a row.
  return sql`exists (select from jsonb_to_record(
      (select jsonb_object_agg(${sql(`o.${keyName}`)}, to_jsonb(o)) from (${rows}) o) -> x.id)
    as r(${sql.unsafe(columns.map(({ name, type }) => `${name} ${type}`).join(', '))}) where ${fits})`
}

/** The account that a row's view shows. Both fields are null after the account is deleted. */
export interface WithPerson {
  personName?: string | null
  personEmail?: string | null
}

/** SQL for the account that the view of row `alias` shows: its columns, and a join. Empty if the view shows no account. */
export function personColumns<E extends Entity>(
  sql: Sql,
  { table, person }: EntityDefinition<E>,
  alias: string,
) {
  const { name } = columnsOf(table).find(({ key }) => key === person) ?? {}
  return {
    names: name ? sql`, u.name as person_name, u.email as person_email` : sql``,
    people: name ? sql.unsafe(`left join users u on u.id = ${alias}.${name}`) : sql``,
  }
}

/** Returns the row as its view shows it. */
export function shownRow<E extends Entity>({ name, view }: EntityDefinition<E>, row: WithPerson): object {
  const { personName, personEmail } = row
  if (personName == null || personEmail == null) return view.of(row as never)
  const id = personIdOf(name, row)!
  return view.of(row as never, { id, name: personName, email: personEmail, nameTag: '' })
}

// The children of a deleted or moved task are read from the log, because their rows may have been deleted or changed.

interface EventsBefore {
  projectId: SqlPart
  taskId: SqlPart
  eventId: SqlPart
}

/**
 * SQL for the id of the last event that created, restored or moved in the task; null if more than `limit` events follow
 * this event.
 */
export const arrivalEvent = (
  sql: Sql,
  { taskId, eventId, projectId }: EventsBefore,
  limit: number | null = null,
) => sql`(
  select id from (select id, entity, before from events
    where task_id = ${taskId} and project_id = ${projectId} and id < ${eventId} order by id desc limit ${limit}) e
  where entity = 'task' and before is null limit 1)`

/** SQL for a task's children: their last states in events since `arrivalId`. A move logs all children in one event. */
export const childrenSince = (
  sql: Sql,
  { taskId, eventId, projectId }: EventsBefore,
  arrivalId: SqlPart,
  children = model().ofTask,
) => sql`
  select * from (
    select distinct on (c.id) c.* from ${eventsOfTask(sql, taskId, sql`id < ${eventId} and id >= ${arrivalId}`)} e cross join lateral (
      select e.entity, e.entity_id as id, e.after where e.entity = any(${children.map(({ name }) => name)}::text[])
      union all
      select k.entity, (a.after ->> 'id')::uuid, a.after
      from unnest(${children.map(({ name }) => name)}::text[], ${children.map(({ plural }) => plural)}::text[]) k(entity, plural)
      cross join lateral jsonb_array_elements(e.after -> k.plural) a(after) where e.type = 'task.moved_in') c
    where e.project_id = ${projectId} order by c.id, e.id desc) c
  where after is not null`

const atSnapshot = (sql: Sql, snapshot: Snapshot, taskId: string | SqlPart): EventsBefore => ({
  projectId: sql`${snapshot.projectId}`,
  taskId: sql`${taskId}`,
  eventId: firstLaterEventId(sql, snapshot),
})

export function loggedRows(
  sql: Sql,
  entity: ChildOfTask,
  snapshot: Snapshot,
  taskId: string | SqlPart,
): SqlPart {
  const { fields, record } = recordColumns(sql, entity)
  const at = atSnapshot(sql, snapshot, taskId)
  const children = [definitionOf(entity)]
  return sql`(select ${fields} from (${childrenSince(sql, at, arrivalEvent(sql, at), children)}) c
    cross join lateral jsonb_to_record(c.after) as r(${record}))`
}

/**
 * SQL that is true if the log still has the event by which the task came into the project, and thus all its later
 * events.
 */
export const arrivalIsLogged = (sql: Sql, snapshot: Snapshot, taskId: string | SqlPart): SqlPart =>
  sql`${arrivalEvent(sql, atSnapshot(sql, snapshot, taskId))} is not null`

export async function isArrivalLogged(sql: Sql, snapshot: Snapshot, taskId: string): Promise<boolean> {
  const [found] = await sql<{ isLogged: boolean }[]>`
    select ${arrivalIsLogged(sql, snapshot, taskId)} as is_logged`
  return found!.isLogged
}

/** SQL that is true if the task was deleted or moved after the snapshot, so only the log contains its children. */
export const hasLeftProject = (sql: Sql, snapshot: Snapshot, taskId: string | SqlPart): SqlPart =>
  sql`exists(select from ${eventsOfTask(sql, taskId, sql`id >= ${firstLaterEventId(sql, snapshot)}`)} e
    where project_id = ${snapshot.projectId} and entity = 'task' and after is null)`
