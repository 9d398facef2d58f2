import { sql } from 'drizzle-orm'
import {
  bigint,
  customType,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  uuid,
} from 'drizzle-orm/pg-core'
import { instant } from '../columns.ts'

const tsvector = customType<{ data: string }>({ dataType: () => 'tsvector' })

// The next four tables are those of the previous release, which may run beside this one. The release after this one drops them.

export const search = pgTable(
  'search',
  {
    projectId: uuid('project_id').notNull(),
    id: uuid('id').notNull(),
    kind: smallint('kind').notNull(),
    taskId: uuid('task_id'),
    at: instant('at').notNull(),
    doc: tsvector('doc').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.projectId, t.id] }),
    index('search_newest').on(t.projectId, t.at, t.id),
    index('search_task').on(t.taskId),
  ],
)

export const searchPositions = pgTable(
  'search_positions',
  {
    projectId: uuid('project_id').primaryKey(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    eventId: uuid('event_id').notNull(),
    fill: jsonb('fill'),
  },
  (t) => [
    index('search_positions_filling')
      .on(t.projectId)
      .where(sql`fill is not null`),
  ],
)

export const searchWords = pgTable('search_words', {
  word: text('word').primaryKey(),
  unusedSince: instant('unused_since'),
})

export const searchUnmerged = pgTable('search_unmerged', {
  slot: smallint('slot').primaryKey(),
  rows: integer('rows').notNull(),
})

/** One row for each task, child of a task and project. The migration creates the index of words, `search_documents_words`. */
export const searchDocuments = pgTable(
  'search_documents',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    kind: text('kind').notNull(),
    /** Null for a project; the own id of a task. */
    taskId: uuid('task_id'),
    /** The time at which the row was created, or deleted. */
    at: instant('at').notNull(),
    /** The last event that changed the row or its project. An older event does not replace the row. */
    eventId: uuid('event_id').notNull(),
    /** The words of the title of a task or project, to find similar titles. */
    title: text('title'),
    /** Null for a deleted row. */
    doc: tsvector('doc'),
  },
  (t) => [
    index('search_documents_newest').on(t.projectId, t.at, t.id),
    index('search_documents_task').on(t.taskId),
    index('search_documents_deleted')
      .on(t.at)
      .where(sql`doc is null`),
  ],
)

/** The row that a fill has added last, and the number of the last task. */
export interface FillCursor {
  task: string
  id: string
  number: number
}

/** The event up to which a project is indexed. */
export const searchCursors = pgTable(
  'search_cursors',
  {
    projectId: uuid('project_id').primaryKey(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    eventId: uuid('event_id').notNull(),
    /** Null when the fill is complete. */
    fill: jsonb('fill').$type<FillCursor>(),
  },
  (t) => [
    index('search_cursors_filling')
      .on(t.projectId)
      .where(sql`fill is not null`),
  ],
)
