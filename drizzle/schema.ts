import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core'
import { eventId, instant } from './columns.ts'

// There are no foreign keys on purpose: the project's actor decides what may exist, its commit is guarded by
// the stream version, and cascades are jobs. A foreign key would lock and check each row once more.

// Each list has an index of its own. What follows the id in it orders nothing, but tells it apart: a list that is
// ordered by that too can be read from its own index only, whatever the planner believes of how rows are spread.

export const users = pgTable('users', {
  id: uuid('id').primaryKey(),
  name: text('name').notNull(),
  email: text('email').notNull().unique(),
  passwordHash: text('password_hash').notNull(),
  /** Every token names the version it was made at; raising it revokes them all. */
  tokenVersion: integer('token_version').notNull().default(0),
  /** The change that gave it the name it has, unless that is its first: ETags of what shows the name say so. */
  renamedBy: uuid('renamed_by'),
  createdAt: instant('created_at').notNull(),
})

/** One row: the last change of any name, or end of an account. They change what projects show, and not their versions. */
export const people = pgTable('people', {
  one: boolean('one').primaryKey().default(true),
  changeId: uuid('change_id').notNull(),
})

/** Tokens given back before their time; a row may go once its token would have expired anyway. */
export const revokedTokens = pgTable(
  'revoked_tokens',
  { jti: uuid('jti').primaryKey(), expiresAt: instant('expires_at').notNull() },
  (t) => [index('revoked_tokens_age').on(t.expiresAt)],
)

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

/** Tasks without a due date come after all that have one. Queries must say it in these very words. */
const byDueDate = sql`coalesce(due_date, 'infinity')`

export const tasks = pgTable(
  'tasks',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    number: integer('number').notNull(),
    title: text('title').notNull(),
    description: text('description'),
    status: text('status').$type<'TODO' | 'IN_PROGRESS' | 'DONE'>().notNull(),
    priority: text('priority').$type<'LOW' | 'MEDIUM' | 'HIGH'>().notNull(),
    dueDate: instant('due_date'),
    assigneeId: uuid('assignee_id'),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
    eventId,
  },
  (t) => [
    index('tasks_created').on(t.projectId, t.id, t.number),
    index('tasks_status').on(t.projectId, t.status, t.priority, t.id, t.createdAt),
    index('tasks_due').on(t.projectId, t.status, t.priority, byDueDate, t.id, t.createdAt),
    index('tasks_assignee')
      .on(t.projectId, t.assigneeId, t.status, t.priority, t.id, t.createdAt, t.number)
      .where(sql`assignee_id is not null`),
    index('tasks_assignee_due')
      .on(t.projectId, t.assigneeId, t.status, t.priority, byDueDate, t.id, t.createdAt, t.number)
      .where(sql`assignee_id is not null`),
  ],
)

export const subtasks = pgTable(
  'subtasks',
  {
    id: uuid('id').primaryKey(),
    taskId: uuid('task_id').notNull(),
    title: text('title').notNull(),
    completed: boolean('completed').notNull(),
    createdAt: instant('created_at').notNull(),
    eventId,
  },
  (t) => [index('subtasks_task').on(t.taskId, t.id, t.createdAt)],
)

export const comments = pgTable(
  'comments',
  {
    id: uuid('id').primaryKey(),
    taskId: uuid('task_id').notNull(),
    authorId: uuid('author_id').notNull(),
    text: text('text').notNull(),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
    eventId,
  },
  (t) => [index('comments_task').on(t.taskId, t.id, t.createdAt)],
)

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
  },
  (t) => [primaryKey({ columns: [t.projectId, t.seq] })],
)

/** Not parked because it failed too often. */
const isWanted = sql`parked_at is null`

/** Work that a commit owes. A row leaves only when its job is done, so no crash, no Redis and no failure can lose it. */
export const outbox = pgTable(
  'outbox',
  {
    id: uuid('id').primaryKey(),
    /** None when the work is about an account. */
    projectId: uuid('project_id'),
    name: text('name').notNull(),
    data: jsonb('data').$type<Record<string, string>>().notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
    attempts: integer('attempts').notNull().default(0),
    error: text('error'), // of the last attempt
    parkedAt: instant('parked_at'),
  },
  (t) => [index('outbox_due').on(t.createdAt, t.id).where(isWanted)],
)

/** The answers given under Idempotency-Key, committed with what they tell. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    scope: text('scope').notNull(),
    key: text('key').notNull(),
    fingerprint: text('fingerprint').notNull(),
    status: integer('status').notNull(),
    body: text('body').notNull(),
    etag: text('etag'),
    createdAt: instant('created_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.scope, t.key] }), index('idempotency_keys_age').on(t.createdAt)],
)
