import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { eventId, instant } from '../columns.ts'

export const comments = pgTable(
  'comments',
  {
    id: uuid('id').primaryKey(),
    taskId: uuid('task_id').notNull(),
    authorId: uuid('author_id').notNull(),
    text: text('text').notNull(),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
    eventId,
    /** The name of the author in the system that the comment was imported from. */
    importedAuthor: text('imported_author'),
  },
  (t) => [index('comments_task').on(t.taskId, t.id, t.createdAt)],
)
