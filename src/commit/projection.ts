import { getTableName } from 'drizzle-orm'
import { definitionOf } from '../model/model.ts'
import type { ChildOfTask, Entity } from '../model/entities.ts'
import { type Column, columnsOf } from '../postgres/columns.ts'
import { namesOf } from './lists.ts'

// Parts of the commit statement: they write the rows that its events leave.

const told: Record<string, string> = { id: 'f."entityId"', projectId: 'f."projectId"', eventId: 'f.id' }
const valueOf = ({ key }: Column) => told[key] ?? `r."${key}"`

function rowsOf(entity: Entity, how: string): string {
  const others = columnsOf(definitionOf(entity).table).filter(({ key }) => !(key in told))
  const record = others.map(({ key, type }) => `"${key}" ${type}`).join(', ')
  const from = definitionOf(entity).untold
    ? `fact f left join untold u using (unit, "entityId")
      cross join lateral jsonb_to_record(f.after || coalesce(u.fields, '{}'))`
    : 'fact f, jsonb_to_record(f.after)'
  return `${from} as r(${record}) where f.entity = '${entity}' and f.how = '${how}'`
}

function inserted(entity: Entity, how: string): string {
  const { table } = definitionOf(entity)
  return `insert into ${getTableName(table)} as t (${namesOf(columnsOf(table))})
    select ${columnsOf(table).map(valueOf).join(', ')} from ${rowsOf(entity, how)}`
}

export const add = (entity: Entity) => `add_${entity} as (${inserted(entity, 'add')})`

/** In the order of ids, as the worker that removes such rows. A row of another task is rejected by the null. */
export const put = (entity: ChildOfTask) => {
  const others = columnsOf(definitionOf(entity).table).filter(({ key }) => key !== 'id' && key !== 'taskId')
  const assignments = others.map(({ name }) => `${name} = excluded.${name}`).join(', ')
  return `put_${entity} as (${inserted(entity, 'put')} order by f."entityId" on conflict (id) do update
    set ${assignments}, task_id = case when t.task_id = excluded.task_id then t.task_id end)`
}

export const set = (entity: Entity) => {
  const { table, untold = [] } = definitionOf(entity)
  const others = columnsOf(table).filter(({ key }) => key !== 'id')
  const kept = ({ key, name }: Column) => `case when u.fields ? '${key}' then r."${key}" else t.${name} end`
  const value = (column: Column) => (untold.includes(column.key) ? kept(column) : valueOf(column))
  const assignments = others.map((column) => `${column.name} = ${value(column)}`).join(', ')
  return `set_${entity} as (update ${getTableName(table)} t set ${assignments}
    from ${rowsOf(entity, 'set')} and t.id = f."entityId")`
}

export const cut = (entity: Entity) =>
  `cut_${entity} as (delete from ${getTableName(definitionOf(entity).table)} where id = any(array(
    select "entityId" from fact where entity = '${entity}' and how = 'cut')))`
