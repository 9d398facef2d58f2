import { getTableName } from 'drizzle-orm'
import { type ChildOfTask, entities, type Rows } from '../../drizzle/entities.ts'
import { type Children, mostMoved } from '../facts/children.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { known } from '../postgres/known-columns.ts'

/** Loads what hangs on a task, until it is more than may go with it: what is too much is seen to be so. */
export function openLoadChildren(sql: Sql) {
  async function rowsOf<E extends ChildOfTask>(entity: E, text: SqlPart, taskId: string) {
    const { table } = entities[entity]
    const rows = await sql<(Rows[E] & { before: number })[]>`
      select * from (
        select *, coalesce(sum(char_length(${text})) over (rows between unbounded preceding and 1 preceding), 0)::int4
          as before
        from (select ${known(sql, table, 't')} from ${sql(getTableName(table))} t where task_id = ${taskId} order by id, created_at limit ${mostMoved.rows + 1}) r) r
      where before <= ${mostMoved.characters}`
    return rows.map(({ before: _, ...row }) => row as unknown as Rows[E])
  }

  return async (taskId: string): Promise<Children> => {
    const [subtasks, comments] = await Promise.all([
      rowsOf('subtask', sql`title`, taskId),
      rowsOf('comment', sql`text`, taskId),
    ])
    return { subtasks, comments }
  }
}
