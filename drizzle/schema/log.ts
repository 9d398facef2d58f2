import { sql } from 'drizzle-orm'
import { bigint, integer, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { instant, partialIndex } from '../columns.ts'

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
    partialIndex('events_task', [t.taskId, t.id], 'task_id is not null'),
    partialIndex('events_made', [t.entityId], "entity in ('subtask', 'comment') and before is null"),
    partialIndex('events_entity', [t.entityId, t.seq], isOfLaterEntity()),
    partialIndex('events_left', [t.taskId, t.projectId], "type = 'task.moved_out'"),
    partialIndex('events_removed', [t.projectId, t.entityId, t.seq], "type = 'member.removed'"),
    partialIndex(
      'events_unassigned',
      [t.projectId, sql`(before ->> 'assigneeId')`, t.seq],
      "type = 'task.unassigned'",
    ),
    partialIndex('events_respaced', [t.projectId, t.seq], isRespacingSql()),
  ],
)

/** The event up to which the log of a project has been searched for tasks that became ready. */
export const readyCursors = pgTable('ready_cursors', {
  projectId: uuid('project_id').primaryKey(),
  seq: bigint('seq', { mode: 'number' }).notNull(),
})
