import { sql } from 'drizzle-orm'
import { doublePrecision, index, integer, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { eventId, instant, partialIndex } from '../columns.ts'

/** Sorts tasks without a due date last. Queries must use exactly this expression. */
const byDueDate = sql`coalesce(due_date, 'infinity')`

/**
 * The sort key of a task's position in its project, compared bytewise. Without a stored position, the key is made from
 * the task's number, so that new tasks are last. Queries must use exactly this expression.
 */
export const positionKey = `(coalesce(position, 'j' || lpad(number::text, 10, '0')) collate "C")`
const byPosition = sql.raw(positionKey)

/** Columns that the row of a plain task leaves out. */
export const optionalColumns = [
  'labelIds',
  'blockedByIds',
  'fields',
  'externalId',
  'position',
  'claimedBy',
  'claimedUntil',
  'claimSeq',
  'remindAt',
  'importedAuthor',
  'attempts',
] as const

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
    // The columns below are optional. Events and inserts omit optional columns without a value.
    labelIds: uuid('label_ids').array(),
    blockedByIds: uuid('blocked_by_ids').array(),
    /** Values by the keys of the project's fields. Each type of field has its own form, so a value shows its type. */
    fields:
      jsonb('fields').$type<
        Record<string, string | number | boolean | { date: string } | { choice: string }>
      >(),
    externalId: text('external_id'),
    /** Null until the task is placed between others: see `positionKey`. */
    position: text('position'),
    claimedBy: uuid('claimed_by'),
    claimedUntil: instant('claimed_until'),
    /** The seq of the event that began the claim. */
    claimSeq: doublePrecision('claim_seq'),
    remindAt: instant('remind_at'),
    /** The name of the task's author in the system that it was imported from. */
    importedAuthor: text('imported_author'),
    /** The number of claims that have expired, or were released as failed. Null for 0. */
    attempts: integer('attempts'),
    /** A due date before this time causes no event `task.due`. Default: the time of the insert or the migration. */
    dueAfter: instant('due_after').default(sql`now()`),
  },
  (t) => [
    index('tasks_created').on(t.projectId, t.id, t.number),
    index('tasks_status').on(t.projectId, t.status, t.priority, t.id, t.createdAt),
    index('tasks_due').on(t.projectId, t.status, t.priority, byDueDate, t.id, t.createdAt),
    partialIndex(
      'tasks_assignee',
      [t.projectId, t.assigneeId, t.status, t.priority, t.id, t.createdAt, t.number],
      'assignee_id is not null',
    ),
    partialIndex(
      'tasks_assignee_due',
      [t.projectId, t.assigneeId, t.status, t.priority, byDueDate, t.id, t.createdAt, t.number],
      'assignee_id is not null',
    ),
    // Together, the next three indexes list a project's tasks by position; each task is in exactly one of them.
    partialIndex(
      'tasks_open',
      [t.projectId, t.priority, byPosition],
      "status <> 'DONE' and claimed_by is null",
    ),
    partialIndex('tasks_done', [t.projectId, byPosition], "status = 'DONE' and claimed_by is null"),
    partialIndex('tasks_claimed', [t.projectId, byPosition], 'claimed_by is not null'),
    partialIndex('tasks_external', [t.projectId, t.externalId], 'external_id is not null'),
    index('tasks_blockers')
      .using('gin', t.blockedByIds)
      .where(sql`blocked_by_ids is not null`),
    partialIndex('tasks_attempts', [t.projectId, t.attempts], 'attempts > 0'),
    // Workers read the next three indexes in pages. Tasks of one project are together if they have the same time.
    partialIndex('tasks_claim_end', [t.claimedUntil, t.projectId, t.id], 'claimed_by is not null'),
    partialIndex('tasks_reminder', [t.remindAt, t.projectId, t.id], 'remind_at is not null'),
    partialIndex(
      'tasks_due_event',
      [t.dueDate, t.projectId, t.id],
      "status <> 'DONE' and due_date > coalesce(due_after, '-infinity')",
    ),
  ],
)
