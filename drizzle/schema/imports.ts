import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  customType,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  real,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { instant, partialIndex } from '../columns.ts'

const bytea = customType<{ data: Uint8Array }>({ dataType: () => 'bytea' })

/** `removing` while a worker deletes the rows. No response has this state. */
export type ImportState = 'queued' | 'running' | 'done' | 'failed' | 'cancelled' | 'removing'
export type UndoState = 'queued' | 'running' | 'done' | 'failed'

/**
 * The steps of an import, in their order. The step `names` creates labels, fields and the description of the project, the
 * step `tasks` tasks, the step `leaves` subtasks from sub-items, and the step `children` subtasks and comments. The step
 * `links` sets the blockers and the order of tasks.
 */
export type ImportStep = 'read' | 'names' | 'tasks' | 'leaves' | 'children' | 'links' | 'end'

/**
 * The position from which a job continues, perhaps in another process: after row `n` of the step. An undo processes the
 * batches in reverse order, and continues before batch `n`. The step `read` always restarts; its `n` counts the starts.
 */
export interface ImportCursor {
  step: ImportStep | 'undo'
  n: number
}

export const imports = pgTable(
  'imports',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    /** The import, or later its undo, runs with the rights of this caller: an account, perhaps limited by an API token. */
    caller: jsonb('caller').$type<object>().notNull(),
    source: text('source').notNull(),
    dryRun: boolean('dry_run').notNull(),
    /** The given mapping. The step `read` adds the proposed mapping for all other names. */
    mapping: jsonb('mapping').$type<object>().notNull(),
    state: text('state').$type<ImportState>().notNull(),
    cursor: jsonb('cursor').$type<ImportCursor>(),
    /** Of earlier releases: the progress is computed from the counts. */
    progress: real('progress').notNull().default(0),
    read: integer('read').notNull().default(0),
    created: integer('created').notNull().default(0),
    updated: integer('updated').notNull().default(0),
    unchanged: integer('unchanged').notNull().default(0),
    rejected: integer('rejected').notNull().default(0),
    error: text('error'),
    undoState: text('undo_state').$type<UndoState>(),
    undone: integer('undone').notNull().default(0),
    kept: integer('kept').notNull().default(0),
    createdAt: instant('created_at').notNull().defaultNow(),
    startedAt: instant('started_at'),
    finishedAt: instant('finished_at'),
  },
  (t) => [
    index('imports_project').on(t.projectId, t.id),
    index('imports_account').on(sql`(caller ->> 'userId')`, t.id),
    // One import at a time in a project.
    uniqueIndex('imports_active')
      .on(t.projectId)
      .where(sql`state in ('receiving', 'queued', 'running') or undo_state in ('queued', 'running')`),
  ],
)

/** The parts of an uploaded file. They are stored before the import, and deleted when it ends. */
export const importChunks = pgTable(
  'import_chunks',
  {
    importId: uuid('import_id').notNull(),
    n: integer('n').notNull(),
    bytes: bytea('bytes').notNull(),
  },
  (t) => [primaryKey({ columns: [t.importId, t.n] })],
)

/** The items of the file, as its reader returned them. They are deleted when the import ends. */
export const importItems = pgTable(
  'import_items',
  {
    importId: uuid('import_id').notNull(),
    kind: text('kind').notNull(),
    n: integer('n').notNull(),
    /** The number of the row in the file. */
    row: integer('row').notNull(),
    /** The id in the file. Items without an id get a digest of their content. */
    key: text('key').notNull(),
    /** The key of the task that a subtask or a comment belongs to, or the parent of a sub-item. */
    parent: text('parent'),
    /** The id that the row has or gets in the project. Unused for subtasks, comments, links and moves. */
    id: uuid('id').notNull(),
    item: jsonb('item').$type<object>().notNull(),
    /** Of tasks, labels and fields. Null: created with `id`, or not yet imported. */
    outcome: text('outcome').$type<'updated' | 'unchanged' | 'rejected'>(),
  },
  (t) => [
    primaryKey({ columns: [t.importId, t.kind, t.n] }),
    index('import_items_key').on(t.importId, t.kind, t.key, t.n),
    // In the order of `n`, because a task with many children is read in several pages.
    partialIndex('import_items_children', [t.importId, t.parent, t.n], 'parent is not null'),
  ],
)

/** The report: a line for each row that was not imported exactly, up to a limit. Line 0 replaces the lines of an old report. */
export const importLines = pgTable(
  'import_lines',
  {
    importId: uuid('import_id').notNull(),
    n: integer('n').notNull(),
    row: integer('row'),
    externalId: text('external_id'),
    outcome: text('outcome').notNull(),
    message: text('message').notNull(),
  },
  (t) => [primaryKey({ columns: [t.importId, t.n] })],
)

/** The `batch` of the events that the import committed. */
export const importBatches = pgTable(
  'import_batches',
  {
    importId: uuid('import_id').notNull(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.importId, t.seq] })],
)
