import type { SubtaskRow } from '../../drizzle/schema.ts'
import type { Sql } from '../../src/core/database.ts'
import type { Page } from '../../src/core/pages.ts'

/** A page of a task's subtasks, oldest first, with one row more than asked. */
export const subtasksOf = (sql: Sql, taskId: string, { limit, cursor }: Page) => sql<SubtaskRow[]>`
  select * from subtasks
  where task_id = ${taskId} and id > ${cursor ?? '00000000-0000-0000-0000-000000000000'}
  order by id, created_at limit ${limit + 1}`
