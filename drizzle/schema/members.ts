import { index, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core'
import { eventId, instant } from '../columns.ts'

export const members = pgTable(
  'members',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    userId: uuid('user_id').notNull(),
    role: text('role').$type<'VIEWER' | 'EDITOR' | 'ADMIN'>().notNull(),
    createdAt: instant('created_at').notNull(),
    eventId,
  },
  (t) => [
    unique('members_once').on(t.projectId, t.userId),
    index('members_user').on(t.userId, t.projectId, t.createdAt),
  ],
)
