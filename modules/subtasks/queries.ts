import type { SubtaskRow } from '../../drizzle/rows.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { type Page, startOf } from '../../src/reads/pages.ts'
import { subtasks as table } from '../../drizzle/schema/subtasks.ts'
import { known } from '../../src/postgres/columns.ts'

/** A page of a task's subtasks, oldest first, with one row more than asked. */
export const subtasksOf = (sql: Sql, taskId: string, page: Page, subtasks = sql`subtasks`) => sql<
  SubtaskRow[]
>`
  select ${known(sql, table, 't')} from ${subtasks} t
  where task_id = ${taskId} and id > ${startOf(page)}
  order by id, created_at limit ${page.limit + 1}`
