import { getTableName } from 'drizzle-orm'
import { lastId } from '../ids.ts'
import type { Entity } from '../model/entities.ts'
import { definitionOf } from '../model/model.ts'
import { columnsOf } from '../postgres/columns.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import type { Moment } from './moments.ts'

/** The id of the first event after a moment: what has changed since has none before it, for ids of events grow. */
export const since = (sql: Sql, { projectId, version }: Moment) => sql`
  coalesce((select id from events where project_id = ${projectId} and seq > ${version}::bigint
    order by seq limit 1), ${lastId}::uuid)`

/** A table as it stood at a moment, in two parts to select from: rows that are the same now, and those that are not. */
export interface Then {
  kept: SqlPart
  changed: SqlPart
}

/** Reads the changes since, of one task or of the whole project, and of the table what its reader looks for. */
export function rowsThen(sql: Sql, entity: Entity, moment: Moment, taskId?: string): Then {
  const { names, fields, record, table } = wordsOf(sql, entity)
  const { projectId, version } = moment
  const about = taskId
    ? sql`task_id = ${taskId} and id >= ${since(sql, moment)} and project_id = ${projectId}`
    : sql`project_id = ${projectId} and seq > ${version}::bigint`
  return {
    kept: sql`(select ${names} from ${table} where event_id < ${since(sql, moment)})`,
    // The first change of a row says how it stood; of some it is that they came. Looked up one by one: a plain join might
    // begin with all events of the project.
    changed: sql`(select ${fields} from (select distinct on (entity_id) project_id, seq from events
        where ${about} and entity = ${entity} order by entity_id, id) f
      cross join lateral (select before, after from events
        where project_id = f.project_id and seq = f.seq limit 1) e
      cross join lateral jsonb_to_record(coalesce(e.after, '{}') || e.before) as r(${record})
      where e.before is not null)`,
  }
}

/** The first of those rows in an order, as one part to select from. */
export const firstThen = (
  sql: Sql,
  { kept, changed }: Then,
  { where, by, limit }: { where: SqlPart; by: SqlPart; limit: number },
) => sql`((select t.* from ${kept} t where ${where} order by ${by} limit ${limit})
  union all (select t.* from ${changed} t where ${where} order by ${by} limit ${limit}))`

/** An entity's columns, as its table and as its events call them. */
export function wordsOf(sql: Sql, entity: Entity) {
  const { table } = definitionOf(entity)
  const columns = columnsOf(table)
  const list = (word: (column: (typeof columns)[number]) => string) =>
    sql.unsafe(columns.map(word).join(', '))
  return {
    table: sql(getTableName(table)),
    names: list(({ name }) => name),
    fields: list(({ key, name }) => `r."${key}" as ${name}`),
    record: list(({ key, type }) => `"${key}" ${type}`),
  }
}
