import { boolean, index, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { eventId, instant } from '../columns.ts'

export const subtasks = pgTable(
  'subtasks',
  {
    id: uuid('id').primaryKey(),
    taskId: uuid('task_id').notNull(),
    title: text('title').notNull(),
    completed: boolean('completed').notNull(),
    createdAt: instant('created_at').notNull(),
    eventId,
  },
  (t) => [index('subtasks_task').on(t.taskId, t.id, t.createdAt)],
)
