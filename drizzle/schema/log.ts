import { sql } from 'drizzle-orm'
import { bigint, index, integer, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { instant } from '../columns.ts'

/**
 * The version of each project. `lastEventId` is the id of the event with this version as its seq. After a failover,
 * another event may have the same seq.
 */
export const streams = pgTable('streams', {
  projectId: uuid('project_id').primaryKey(),
  version: bigint('version', { mode: 'number' }).notNull(),
  lastNumber: integer('last_number').notNull(),
  lastEventId: uuid('last_event_id').notNull().default('00000000-0000-0000-0000-000000000000'),
})

/** Ids of purged projects. An id is never used again, so that no job or cache confuses two projects. */
export const goneProjects = pgTable('gone_projects', { projectId: uuid('project_id').primaryKey() })

/** Events of these entities have other indexes, so the index `events_entity` excludes the entities. */
const indexed = ['project', 'member', 'task', 'subtask', 'comment', 'webhook', 'service_account', 'token']

/** Queries must repeat the condition of the index `events_entity` exactly. */
export const isOfLaterEntity = (alias = '') =>
  `${alias && `${alias}.`}entity not in (${indexed.map((name) => `'${name}'`).join(', ')})`

/** SQL for an event that gave a task a new sort key. Queries must repeat the condition of the index `events_respaced` exactly. */
export const isRespacingSql = (alias = '') => {
  const of = alias && `${alias}.`
  return `${of}type = 'task.updated' and ${of}actor_id = '00000000-0000-0000-0000-000000000000'`
}

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
    /** Contains `before` and `after` of old events of webhooks, service accounts and tokens. */
    told: jsonb('told').$type<{ before: unknown; after: unknown }>(),
    taskId: uuid('task_id'),
    /** The seq of the first event of the same batch. */
    batch: bigint('batch', { mode: 'number' }),
    /** The seq of the event that this event undoes. */
    undoes: bigint('undoes', { mode: 'number' }),
  },
  (t) => [
    primaryKey({ columns: [t.projectId, t.seq] }),
    // The event ids of a task keep growing when the task moves to another project; the seqs do not.
    index('events_task')
      .on(t.taskId, t.id)
      .where(sql`task_id is not null`),
    index('events_made')
      .on(t.entityId)
      .where(sql`entity in ('subtask', 'comment') and before is null`),
    index('events_entity').on(t.entityId, t.seq).where(sql.raw(isOfLaterEntity())),
    index('events_left')
      .on(t.taskId, t.projectId)
      .where(sql`type = 'task.moved_out'`),
    index('events_removed')
      .on(t.projectId, t.entityId, t.seq)
      .where(sql`type = 'member.removed'`),
    index('events_unassigned')
      .on(t.projectId, sql`(before ->> 'assigneeId')`, t.seq)
      .where(sql`type = 'task.unassigned'`),
    index('events_respaced').on(t.projectId, t.seq).where(sql.raw(isRespacingSql())),
  ],
)

/** The event up to which the log of a project has been searched for tasks that became ready. */
export const readyCursors = pgTable('ready_cursors', {
  projectId: uuid('project_id').primaryKey(),
  seq: bigint('seq', { mode: 'number' }).notNull(),
})
