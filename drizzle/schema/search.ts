import { bigint, customType, index, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant, partialIndex } from '../columns.ts'

const tsvector = customType<{ data: string }>({ dataType: () => 'tsvector' })

// Databases also keep the tables of the former search, for the release of commit 240b63a2, which may run beside this one.

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
    partialIndex('search_documents_deleted', [t.at], 'doc is null'),
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
  (t) => [partialIndex('search_cursors_filling', [t.projectId], 'fill is not null')],
)
