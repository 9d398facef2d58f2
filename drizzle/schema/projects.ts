import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { eventId, instant } from '../columns.ts'

export const projects = pgTable(
  'projects',
  {
    id: uuid('id').primaryKey(),
    ownerId: uuid('owner_id').notNull(),
    name: text('name').notNull(),
    description: text('description'),
    createdAt: instant('created_at').notNull(),
    eventId,
  },
  (t) => [index('projects_owner').on(t.ownerId, t.id, t.createdAt)],
)
