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

/**
 * The words of each task, comment, subtask and project. A project writes only its own rows, also while a task moves to
 * another project: the projects are indexed in any order. The migration creates the index `search_gin`.
 */
export const search = pgTable(
  'search',
  {
    projectId: uuid('project_id').notNull(),
    id: uuid('id').notNull(),
    /** 0: task, 1: comment, 2: subtask, 3: project. */
    kind: smallint('kind').notNull(),
    /** Null for a project; the own id of a task. */
    taskId: uuid('task_id'),
    /** The time at which the row was created. */
    at: instant('at').notNull(),
    doc: tsvector('doc').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.projectId, t.id] }),
    index('search_newest').on(t.projectId, t.at, t.id),
    index('search_task').on(t.taskId),
  ],
)

/** The next rows that the first fill reads: rows after `task` and `id`. `number` is the last task that was filled. */
export type FillCursor = { clears: true } | { task: string; id: string; number: number }

/** The event up to which a project is indexed: the `seq` and id of the project's version, or of an earlier event. */
export const searchPositions = pgTable(
  'search_positions',
  {
    projectId: uuid('project_id').primaryKey(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    eventId: uuid('event_id').notNull(),
    /** Null when the first fill is complete. */
    fill: jsonb('fill').$type<FillCursor>(),
  },
  (t) => [
    index('search_positions_filling')
      .on(t.projectId)
      .where(sql`fill is not null`),
  ],
)

/** The words of titles, to find similar words. A worker deletes words that no document has contained for an hour. */
export const searchWords = pgTable('search_words', {
  word: text('word').primaryKey(),
  unusedSince: instant('unused_since'),
})

/**
 * Rows that were added to the pending list of `search_gin` since it was merged: the sum of all slots. With several
 * slots, concurrent statements rarely wait for each other.
 */
export const searchUnmerged = pgTable('search_unmerged', {
  slot: smallint('slot').primaryKey(),
  rows: integer('rows').notNull(),
})
