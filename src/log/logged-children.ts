import type { ChildOfTask, Rows } from '../model/entities.ts'
import { model } from '../model/model.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import type { Snapshot } from './as-of.ts'
import { type Children, noChildren } from './rows.ts'
import { maxUndoneRows, readBounded, undoTooLarge, type LoggedEvent } from './undo-input.ts'
import { eventsOfTask, firstLaterEventId, recordColumns } from './rows-at.ts'

// The children of a deleted or moved task are read from the log, because their rows may have been deleted or changed.

const maxEventsRead = 100_000

interface EventsBefore {
  projectId: SqlPart
  taskId: SqlPart
  eventId: SqlPart
}

/**
 * SQL for the id of the last event that created, restored or moved in the task; null if more than `limit` events follow
 * this event.
 */
const arrivalEvent = (
  sql: Sql,
  { taskId, eventId, projectId }: EventsBefore,
  limit: number | null = null,
) => sql`(
  select id from (select id, entity, before from events
    where task_id = ${taskId} and project_id = ${projectId} and id < ${eventId} order by id desc limit ${limit}) e
  where entity = 'task' and before is null limit 1)`

/** SQL for a task's children: their last states in events since `arrivalId`. A move logs all children in one event. */
const childrenSince = (
  sql: Sql,
  { taskId, eventId, projectId }: EventsBefore,
  arrivalId: SqlPart,
  children = model().ofTask,
) => sql`
  select * from (
    select distinct on (c.id) c.* from ${eventsOfTask(sql, taskId, sql`id < ${eventId} and id >= ${arrivalId}`)} e cross join lateral (
      select e.entity, e.entity_id as id, e.after where e.entity = any(${children.map(({ name }) => name)}::text[])
      union all
      select k.entity, (a.after ->> 'id')::uuid, a.after
      from unnest(${children.map(({ name }) => name)}::text[], ${children.map(({ plural }) => plural)}::text[]) k(entity, plural)
      cross join lateral jsonb_array_elements(e.after -> k.plural) a(after) where e.type = 'task.moved_in') c
    where e.project_id = ${projectId} order by c.id, e.id desc) c
  where after is not null`

const atSnapshot = (sql: Sql, snapshot: Snapshot, taskId: string | SqlPart): EventsBefore => ({
  projectId: sql`${snapshot.projectId}`,
  taskId: sql`${taskId}`,
  eventId: firstLaterEventId(sql, snapshot),
})

export function loggedRows(
  sql: Sql,
  entity: ChildOfTask,
  snapshot: Snapshot,
  taskId: string | SqlPart,
): SqlPart {
  const { fields, record } = recordColumns(sql, entity)
  const at = atSnapshot(sql, snapshot, taskId)
  const children = model().ofTask.filter(({ name }) => name === entity)
  return sql`(select ${fields} from (${childrenSince(sql, at, arrivalEvent(sql, at), children)}) c
    cross join lateral jsonb_to_record(c.after) as r(${record}))`
}

/**
 * SQL that is true if the log still has the event by which the task came into the project, and thus all its later
 * events.
 */
export const arrivalIsLogged = (sql: Sql, snapshot: Snapshot, taskId: string | SqlPart): SqlPart =>
  sql`${arrivalEvent(sql, atSnapshot(sql, snapshot, taskId))} is not null`

export async function isArrivalLogged(sql: Sql, snapshot: Snapshot, taskId: string): Promise<boolean> {
  const [found] = await sql<{ isLogged: boolean }[]>`
    select ${arrivalIsLogged(sql, snapshot, taskId)} as is_logged`
  return found!.isLogged
}

/** SQL that is true if the task was deleted or moved after the snapshot, so only the log contains its children. */
export const hasLeftProject = (sql: Sql, snapshot: Snapshot, taskId: string | SqlPart): SqlPart =>
  sql`exists(select from ${eventsOfTask(sql, taskId, sql`id >= ${firstLaterEventId(sql, snapshot)}`)} e
    where project_id = ${snapshot.projectId} and entity = 'task' and after is null)`

type LoggedChild = { seq: number; isLogged: boolean } & (
  { entity: ChildOfTask; after: Rows[ChildOfTask] } | { entity: null }
)

/** Returns the children of each deleted task by the seq of the deletion. @throws HttpError 409 for too many children */
export async function readDeletedChildren(
  sql: Sql,
  deletions: Pick<LoggedEvent, 'projectId' | 'entityId' | 'id' | 'seq'>[],
): Promise<Map<number, Children> | 'expired'> {
  const children = new Map(deletions.map(({ seq }) => [seq, noChildren()]))
  if (deletions.length === 0) return children
  const projectId = sql`${deletions[0]!.projectId}`
  const at = { projectId, taskId: sql`q.task_id`, eventId: sql`q.event_id` }
  const { rows, isTooMuch } = await readBounded<LoggedChild>(
    sql,
    sql`select q.seq::float8 as seq, a.id is not null as is_logged, c.entity, c.after,
        coalesce(char_length(c.after::text), 0) as characters
      from unnest(${deletions.map(({ seq }) => seq)}::bigint[], ${deletions.map(({ entityId }) => entityId)}::uuid[],
        ${deletions.map(({ id }) => id)}::uuid[]) q(seq, task_id, event_id)
      left join lateral ${arrivalEvent(sql, at, maxEventsRead)} a on true
      left join lateral (${childrenSince(sql, at, sql`a.id`)}) c on true`,
    maxUndoneRows + deletions.length,
  )
  if (rows.some(({ isLogged }) => !isLogged)) return 'expired'
  const found = rows.filter((row) => row.entity !== null)
  if (isTooMuch || found.length > maxUndoneRows) throw undoTooLarge()
  found.sort((a, b) => (a.after.id < b.after.id ? -1 : 1))
  for (const { seq, entity, after } of found) (children.get(seq)![entity] as Rows[ChildOfTask][]).push(after)
  return children
}
