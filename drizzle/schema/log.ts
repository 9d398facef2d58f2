import { sql } from 'drizzle-orm'
import { bigint, index, integer, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { instant } from '../columns.ts'

/**
 * One row per project: the version every commit compares and swaps with the event that made it (after a restore, another
 * one may have the same number), and the highest task number given.
 */
export const streams = pgTable('streams', {
  projectId: uuid('project_id').primaryKey(),
  version: bigint('version', { mode: 'number' }).notNull(),
  lastNumber: integer('last_number').notNull(),
  lastEventId: uuid('last_event_id').notNull().default('00000000-0000-0000-0000-000000000000'),
})

/**
 * Projects that are gone for good. Their ids stay taken: what was left undone when they went, or is remembered of them, is
 * never taken for another one's.
 */
export const goneProjects = pgTable('gone_projects', { projectId: uuid('project_id').primaryKey() })

/** The entities whose events other indexes find. */
const indexed = ['project', 'member', 'task', 'subtask', 'comment', 'webhook', 'service_account', 'token']

/** Whether an event is of another entity: the condition of the index `events_entity`, word for word. */
export const isOfLaterEntity = (alias = '') =>
  `${alias && `${alias}.`}entity not in (${indexed.map((name) => `'${name}'`).join(', ')})`

/** The history: what each commit changed, with the row before and after. Folding it gives the rows above. */
export const events = pgTable(
  'events',
  {
    projectId: uuid('project_id').notNull(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    id: uuid('id').notNull(),
    type: text('type').notNull(),
    entity: text('entity').notNull(),
    entityId: uuid('entity_id').notNull(),
    actorId: uuid('actor_id').notNull(),
    at: instant('at').notNull(),
    before: jsonb('before'),
    after: jsonb('after'),
    /** Both of a webhook, service account or token. Their own columns are null: the release before knows no such rows. */
    told: jsonb('told').$type<{ before: unknown; after: unknown }>(),
    /** The task that it is about, if it is about one. */
    taskId: uuid('task_id'),
    /** What many commands did that were committed as one: the seq of the first event of it. */
    batch: bigint('batch', { mode: 'number' }),
    /** The seq of the event in this project that it takes back. */
    undoes: bigint('undoes', { mode: 'number' }),
  },
  (t) => [
    primaryKey({ columns: [t.projectId, t.seq] }),
    // Ids of events grow along a task's way through projects, as seqs do not.
    index('events_task')
      .on(t.taskId, t.id)
      .where(sql`task_id is not null`),
    // Whether the id of a subtask or comment was ever given.
    index('events_made')
      .on(t.entityId)
      .where(sql`entity in ('subtask', 'comment') and before is null`),
    // Whether the id of a row was ever given, and its last deletion.
    index('events_entity').on(t.entityId, t.seq).where(sql.raw(isOfLaterEntity())),
    // Which projects a task came through.
    index('events_left')
      .on(t.taskId, t.projectId)
      .where(sql`type = 'task.moved_out'`),
    // Whether a member who was removed came back, and was removed again.
    index('events_removed')
      .on(t.projectId, t.entityId, t.seq)
      .where(sql`type = 'member.removed'`),
    // What the removal of a member took from them.
    index('events_unassigned')
      .on(t.projectId, sql`(before ->> 'assigneeId')`, t.seq)
      .where(sql`type = 'task.unassigned'`),
  ],
)
