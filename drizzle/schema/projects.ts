import { index, pgTable, text, uuid, unique, jsonb } from 'drizzle-orm/pg-core'
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
    /** Optional. Null: the last write wins. */
    textEdits: text('text_edits').$type<'if-match'>(),
  },
  (t) => [index('projects_owner').on(t.ownerId, t.id, t.createdAt)],
)

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

export const labels = pgTable(
  'labels',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    name: text('name').notNull(),
    color: text('color'),
    createdAt: instant('created_at').notNull(),
    eventId,
  },
  (t) => [index('labels_project').on(t.projectId, t.id, t.createdAt)],
)

export const taskFields = pgTable(
  'task_fields',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    type: text('type').$type<'text' | 'number' | 'boolean' | 'date' | 'choice'>().notNull(),
    /** The choices of a field of the type choice. */
    options: jsonb('options').$type<string[]>(),
    createdAt: instant('created_at').notNull(),
    eventId,
  },
  (t) => [index('task_fields_project').on(t.projectId, t.id, t.createdAt)],
)

export const taskViews = pgTable(
  'task_views',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    name: text('name').notNull(),
    /** Parameters of the list of tasks. */
    query: jsonb('query').$type<Record<string, string>>().notNull(),
    createdAt: instant('created_at').notNull(),
    eventId,
  },
  (t) => [index('task_views_project').on(t.projectId, t.id, t.createdAt)],
)
