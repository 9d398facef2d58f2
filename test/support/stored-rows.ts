import { model } from '../../modules/modules.ts'
import type { Entity } from '../../src/model/entities.ts'
import { columnsOf } from '../../src/postgres/columns.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { getTableName } from 'drizzle-orm'

type Row = Record<string, unknown> & { id: string }

/** Returns every row of every table that events write. */
export async function readRows<R extends Row = Row>(sql: Sql): Promise<{ entity: Entity; row: R }[]> {
  const rows: { entity: Entity; row: R }[] = []
  for (const entity of model.names)
    for (const row of await storedRows<R>(sql, entity)) rows.push({ entity, row })
  return rows
}

/** Returns an entity's rows with the columns that events store, without accounts and tokens of human users. */
function storedRows<Row extends object>(sql: Sql, entity: Entity) {
  const { table, unlogged = [] } = model.entities[entity]
  const columns = columnsOf(table).filter(({ key }) => !unlogged.includes(key))
  const account = { service_account: sql`t.id`, token: sql`t.user_id` }[entity as 'token']
  return sql<Row[]>`
    select ${sql.unsafe(columns.map(({ name }) => `t.${name}`).join(', '))} from ${sql(getTableName(table))} t
    ${account ? sql`where exists (select from users u join members m on m.user_id = u.id where u.id = ${account} and u.project_id = m.project_id)` : sql``}
    order by t.id`
}
