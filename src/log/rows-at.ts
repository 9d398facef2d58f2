import { getTableName } from 'drizzle-orm'
import { lastId } from '../ids.ts'
import type { Entity } from '../model/entities.ts'
import { definitionOf } from '../model/model.ts'
import { type Column, columnsOf } from '../postgres/columns.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import type { Moment } from './as-of.ts'

/** The id of the first event after a moment: rows changed since then have this event id or a higher one. */
export const since = (sql: Sql, { projectId, version }: Moment) => sql`
  coalesce((select id from events where project_id = ${projectId} and seq > ${version}::bigint
    order by seq limit 1), ${lastId}::uuid)`

/**
 * What to select an entity's rows from: its table, or for a moment the rows that are the same now, and beside them the
 * changed rows as they were. With a task's id only the changes of that task are read.
 */
export function sourcesOf(sql: Sql, entity: Entity, moment?: Moment, taskId?: string): SqlPart[] {
  if (!moment) return [sql.unsafe(`(${selectOf(entity)})`)]
  const { names, fields, record, table } = wordsOf(sql, entity)
  const { projectId, version } = moment
  const about = taskId
    ? sql`task_id = ${taskId} and id >= ${since(sql, moment)} and project_id = ${projectId}`
    : sql`project_id = ${projectId} and seq > ${version}::bigint`
  return [
    sql`(select ${names} from ${table} where event_id < ${since(sql, moment)})`,
    // The first change of a row holds how it was; rows created since have no `before`. A lateral join: the planner might
    // begin a plain join with all events of the project.
    sql`(select ${fields} from (select distinct on (entity_id) project_id, seq from events
        where ${about} and entity = ${entity} order by entity_id, id) f
      cross join lateral (select before, after from events
        where project_id = f.project_id and seq = f.seq limit 1) e
      cross join lateral jsonb_to_record(coalesce(e.after, '{}') || e.before) as r(${record})
      where e.before is not null)`,
  ]
}

/** The first rows of all sources in an order, as one part to select from. */
export function firstRows(
  sql: Sql,
  sources: SqlPart[],
  { where, by, limit }: { where: SqlPart; by: SqlPart; limit: number },
): SqlPart {
  const [first, ...others] = sources.map(
    (rows) => sql`(select t.* from ${rows} t where ${where} order by ${by} limit ${limit})`,
  )
  return others.reduce((all, one) => sql`(${all} union all ${one})`, first!)
}

/** An entity's columns, as its table and as its events call them. */
export function wordsOf(sql: Sql, entity: Entity) {
  const { table } = definitionOf(entity)
  const columns = columnsOf(table)
  const list = (word: (column: (typeof columns)[number]) => string) =>
    sql.unsafe(columns.map(word).join(', '))
  return {
    table: sql.unsafe(getTableName(table)),
    names: list(({ name }) => name),
    fields: list((column) => `${valueOf(column)} as ${column.name}`),
    record: list(({ key, type }) => `"${key}" ${type}`),
  }
}

const selectOf = (entity: Entity): string => {
  const { table } = definitionOf(entity)
  const names = columnsOf(table).map(({ name }) => name)
  return `select ${names.join(', ')} from ${getTableName(table)}`
}

/** A column's value in an event: its default in events from before there was such a column. */
function valueOf({ key, type, fallback }: Column): string {
  if (fallback === undefined) return `r."${key}"`
  const isList = Array.isArray(fallback) && type !== 'jsonb'
  const text = isList
    ? `{${fallback.join()}}`
    : type === 'jsonb'
      ? JSON.stringify(fallback)
      : String(fallback)
  return `coalesce(r."${key}", '${text}'::${type})`
}
