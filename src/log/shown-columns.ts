import { getTableName } from 'drizzle-orm'
import type { Entity } from '../model/entities.ts'
import { definitionOf, type ReferenceField } from '../model/model.ts'
import { referencesOf } from '../model/references.ts'
import { columnsOf, known } from '../postgres/columns.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import type { Moment } from './as-of.ts'
import { sourcesOf } from './rows-at.ts'

/** The columns of the rows `alias` of an entity as answers show them: without the ids of rows that are deleted, or were at a moment. */
export function shownColumns(sql: Sql, entity: Entity, alias: string, moment?: Moment): SqlPart {
  const { table } = definitionOf(entity)
  const fields = referencesOf(entity)
  if (!fields) return known(sql, table, alias)
  return columnsOf(table)
    .map(({ key, name }): SqlPart => {
      if (key === 'eventId') return sql`${shownEventId(sql, entity, alias, moment)} as event_id`
      const field = fields.find((one) => one.name === key)
      return field
        ? sql`${valueOf(sql, field, alias, found(sql, entity, field, alias, moment))} as ${sql(name)}`
        : sql`${sql(`${alias}.${name}`)}`
    })
    .reduce((all, one): SqlPart => sql`${all}, ${one}`)
}

/** The event of a row, and which of its references are shown where that is not all: see `visible`. */
export function shownEventId(sql: Sql, entity: Entity, alias: string, moment?: Moment): SqlPart {
  const column = sql`${sql(`${alias}.event_id`)}`
  const fields = referencesOf(entity)
  if (!fields) return column
  const bits = fields
    .map(
      (field) =>
        sql`coalesce((select string_agg(f.is_there::int::text, '' order by f.n) from (${found(sql, entity, field, alias, moment)}) f), '')`,
    )
    .reduce((all, one): SqlPart => sql`${all} || ${one}`)
  return sql`(select ${column}::text || case when b.bits like '%0%' then '.' || b.bits else '' end from (select ${bits} as bits) b)`
}

/** The ids in a field, in their order, and whether the row of each is there. */
function found(
  sql: Sql,
  entity: Entity,
  { to, column, isMany }: ReferenceField,
  alias: string,
  moment?: Moment,
): SqlPart {
  const value = sql(`${alias}.${column.name}`)
  const ids = !isMany
    ? sql`(select ${value} as id, 1 as n) x`
    : column.type === 'jsonb'
      ? sql`(select e.id::uuid, e.n from jsonb_array_elements_text(${value}) with ordinality e(id, n)) x`
      : sql`unnest(${value}) with ordinality x(id, n)`
  return sql`select x.id, x.n, ${isThere(sql, entity, to, alias, moment)} as is_there from ${ids} where x.id is not null`
}

function isThere(sql: Sql, entity: Entity, to: Entity, alias: string, moment?: Moment): SqlPart {
  if (moment) {
    const rows = sourcesOf(sql, to, moment)
      .map((source) => sql`select id from ${source} r where project_id = ${moment.projectId}`)
      .reduce((all, one): SqlPart => sql`${all} union all ${one}`)
    return sql`x.id = any(array(${rows}))`
  }
  const project =
    definitionOf(entity).parent === 'task'
      ? sql`(select project_id from tasks where id = ${sql(`${alias}.task_id`)})`
      : sql`${sql(`${alias}.project_id`)}`
  return sql`exists (select from ${sql(getTableName(definitionOf(to).table))} r where r.id = x.id and r.project_id = ${project})`
}

function valueOf(sql: Sql, { isMany, column }: ReferenceField, alias: string, ids: SqlPart): SqlPart {
  if (!isMany) return sql`(select f.id from (${ids}) f where f.is_there)`
  const list =
    column.type === 'jsonb'
      ? sql`coalesce(jsonb_agg(f.id order by f.n), '[]')`
      : sql`coalesce(array_agg(f.id order by f.n), '{}')`
  return sql`case when ${sql(`${alias}.${column.name}`)} is not null then (select ${list} from (${ids}) f where f.is_there) end`
}
