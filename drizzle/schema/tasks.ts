import { sql } from 'drizzle-orm'
import { index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { eventId, instant } from '../columns.ts'

/** Sorts tasks without a due date last. Queries must use exactly this expression. */
const byDueDate = sql`coalesce(due_date, 'infinity')`

export const tasks = pgTable(
  'tasks',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    number: integer('number').notNull(),
    title: text('title').notNull(),
    description: text('description'),
    status: text('status').$type<'TODO' | 'IN_PROGRESS' | 'DONE'>().notNull(),
    priority: text('priority').$type<'LOW' | 'MEDIUM' | 'HIGH'>().notNull(),
    dueDate: instant('due_date'),
    assigneeId: uuid('assignee_id'),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
    eventId,
  },
  (t) => [
    index('tasks_created').on(t.projectId, t.id, t.number),
    index('tasks_status').on(t.projectId, t.status, t.priority, t.id, t.createdAt),
    index('tasks_due').on(t.projectId, t.status, t.priority, byDueDate, t.id, t.createdAt),
    index('tasks_assignee')
      .on(t.projectId, t.assigneeId, t.status, t.priority, t.id, t.createdAt, t.number)
      .where(sql`assignee_id is not null`),
    index('tasks_assignee_due')
      .on(t.projectId, t.assigneeId, t.status, t.priority, byDueDate, t.id, t.createdAt, t.number)
      .where(sql`assignee_id is not null`),
  ],
)
