import { getTableName } from 'drizzle-orm'
import { definitionOf } from '../model/model.ts'
import type { Entity } from '../model/entities.ts'
import { type Column, columnsOf } from '../postgres/columns.ts'
import { namesOf } from './parameter-lists.ts'
import type { RowWrite } from './unit.ts'

/** Columns whose values come from the event, and not from its row. */
const fromEvent: Record<string, string> = { id: 'e."entityId"', projectId: 'e."projectId"', eventId: 'e.id' }
const valueOf = ({ key }: Column) => fromEvent[key] ?? `r."${key}"`

function columnsFor(entity: Entity, write: RowWrite): Column[] {
  const { table, optionalColumns = [] } = definitionOf(entity)
  const left = write === 'insert_plain' ? optionalColumns : []
  return columnsOf(table).filter(({ key }) => !left.includes(key))
}

function rowsOf(entity: Entity, write: RowWrite): string {
  const others = columnsFor(entity, write).filter(({ key }) => !(key in fromEvent))
  const record = others.map(({ key, type }) => `"${key}" ${type}`).join(', ')
  const from = definitionOf(entity).unlogged
    ? `event e left join unlogged u using (unit, "entityId")
      cross join lateral jsonb_to_record(e.after || coalesce(u.fields, '{}'))`
    : 'event e, jsonb_to_record(e.after)'
  return `${from} as r(${record}) where e.entity = '${entity}' and e.write = '${write}'`
}

function inserted(entity: Entity, write: RowWrite): string {
  const { table } = definitionOf(entity)
  const columns = columnsFor(entity, write)
  return `insert into ${getTableName(table)} as t (${namesOf(columns)})
    select ${columns.map(valueOf).join(', ')} from ${rowsOf(entity, write)}`
}

const insert = (entity: Entity) => inserted(entity, 'insert')
const insertPlain = (entity: Entity) => inserted(entity, 'insert_plain')

/**
 * Writes rows in the order of their ids, like the worker that deletes such rows, to avoid deadlocks. If the id belongs
 * to a row of another task, sets `task_id` to null on purpose: NOT NULL then makes Postgres reject the unit.
 */
const upsert = (entity: Entity) => {
  const others = columnsOf(definitionOf(entity).table).filter(({ key }) => key !== 'id' && key !== 'taskId')
  const assignments = others.map(({ name }) => `${name} = excluded.${name}`).join(', ')
  return `${inserted(entity, 'upsert')} order by e."entityId" on conflict (id) do update
    set ${assignments}, task_id = case when t.task_id = excluded.task_id then t.task_id end`
}

const update = (entity: Entity) => {
  const { table, unlogged = [] } = definitionOf(entity)
  const others = columnsOf(table).filter(({ key }) => key !== 'id')
  const unloggedValue = ({ key, name }: Column) =>
    `case when u.fields ? '${key}' then r."${key}" else t.${name} end`
  const value = (column: Column) => (unlogged.includes(column.key) ? unloggedValue(column) : valueOf(column))
  const assignments = others.map((column) => `${column.name} = ${value(column)}`).join(', ')
  return `update ${getTableName(table)} t set ${assignments}
    from ${rowsOf(entity, 'update')} and t.id = e."entityId"`
}

const remove = (entity: Entity) =>
  `delete from ${getTableName(definitionOf(entity).table)} where id = any(array(
    select "entityId" from event where entity = '${entity}' and write = 'delete'))`

const writes: Record<RowWrite, (entity: Entity) => string> = {
  insert,
  insert_plain: insertPlain,
  upsert,
  update,
  delete: remove,
}

export const rowWrite = (write: RowWrite, entity: Entity): string =>
  `${write}_${entity} as (${writes[write](entity)})`
