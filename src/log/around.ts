import { getTableName } from 'drizzle-orm'
import type { MemberRow } from '../../drizzle/rows.ts'
import { isOfLaterEntity } from '../../drizzle/schema/log.ts'
import type { ChildOfTask, Entity, Rows } from '../model/entities.ts'
import { model } from '../model/model.ts'
import type { Sql } from '../postgres/database.ts'
import { eachOf } from './children.ts'
import { mostAround, readBounded, tooMuch } from './overtaken.ts'
import type { LoggedEvent, Past, Unassigned } from './past.ts'

/**
 * Returns the children that tasks have when their creation is undone, without those that came back with them. Children of
 * a deleted task are read from the log: whether a worker has removed their rows yet makes no difference.
 * @throws HttpError 409 if they are too many for one undo
 */
export async function hangingOn(
  sql: Sql,
  tasks: LoggedEvent[],
  { events, children }: Pick<Past, 'events' | 'children'>,
): Promise<Past['hanging']> {
  if (tasks.length === 0) return []
  const rowsNow = model().ofTask.map(
    ({ name, table }) =>
      `select '${name}' as entity, id, event_id from ${getTableName(table)} where task_id = t.id union all`,
  )
  const back = tasks.flatMap((task) => restoredTo(task, events, children))
  const hanging = await sql<Past['hanging'][number][]>`
    with back as (select * from unnest(${back.map(({ seq }) => seq)}::bigint[], ${back.map(({ entity }) => entity)}::text[],
      ${back.map(({ id }) => id)}::uuid[], ${back.map(({ eventId }) => eventId)}::uuid[]) b(seq, entity, id, event_id))
    select q.task_id, c.entity, c.id
    from unnest(${tasks.map(({ entityId }) => entityId)}::uuid[], ${tasks.map(({ seq }) => seq)}::bigint[],
      ${tasks.map((task) => (returnsOtherwise(task, events) ? 0 : (task.undoes ?? 0)))}::bigint[]) q(task_id, seq, undoes)
    left join tasks t on t.id = q.task_id
    cross join lateral (
      ${sql.unsafe(rowsNow.join(' '))} select entity, id, event_id from back where back.seq = q.seq) c
    where not exists (
      select from events e where e.task_id = q.task_id and e.id = c.event_id and e.undoes = q.undoes)
    limit ${mostAround + 1}`
  if (hanging.length > mostAround) throw tooMuch()
  return hanging
}

/**
 * Returns true if a task whose creation is undone is then restored by the undo of an earlier deletion, which is not the
 * deletion that its creation undid.
 */
export function returnsOtherwise({ entityId, seq, undoes }: LoggedEvent, events: LoggedEvent[]): boolean {
  const isEarlier = (one: LoggedEvent) =>
    one.type === 'task.deleted' && one.entityId === entityId && one.seq < seq
  const deletions = events.filter(isEarlier).map((one) => one.seq)
  return deletions.length > 0 && Math.max(...deletions) !== undoes
}

/** The children that the undo restores before it undoes a task's creation, each with the event that last changed it. */
function restoredTo({ entityId, seq }: LoggedEvent, events: LoggedEvent[], children: Past['children']) {
  const rows = new Map<string, { seq: number; entity: Entity; id: string; eventId: string }>()
  const put = (entity: Entity, { id, eventId }: { id: string; eventId: string }) =>
    rows.set(entity + id, { seq, entity, id, eventId })
  for (const event of events) {
    if (event.after || event.taskId !== entityId || event.seq < seq) continue
    if (event.entity !== 'task') put(event.entity, event.before as Rows[ChildOfTask])
    const along = children.get(event.seq)
    for (const [child, row] of along ? eachOf(along) : []) put(child, row)
  }
  return [...rows.values()]
}

/**
 * Reads which deleted rows were restored since and deleted again, and which tasks are in another project now. Both at one
 * moment: a task that is deleted there a moment later was deleted again.
 */
export async function goneSince(
  sql: Sql,
  deletions: LoggedEvent[],
  asked: LoggedEvent[],
): Promise<Pick<Past, 'goneAgain' | 'elsewhere'>> {
  const [ofProject, ofTasks] = [
    deletions.filter(({ taskId }) => !taskId),
    deletions.filter(({ taskId }) => taskId),
  ]
  const named = sql`e.entity_id = q.entity_id and not e.id = any(${asked.map(({ id }) => id)}::uuid[])`
  const each = (some: LoggedEvent[]) => sql`
    unnest(${some.map(({ taskId, projectId }) => taskId ?? projectId)}::uuid[],
      ${some.map(({ entityId }) => entityId)}::uuid[], ${some.map(({ id }) => id)}::uuid[],
      ${some.map(({ seq }) => seq)}::bigint[]) q(of_id, entity_id, id, seq)`
  type Since = { seq: number; isGone: boolean; isElsewhere: boolean }[]
  const all: Since[] = await Promise.all([
    ofProject.length === 0
      ? []
      : sql<Since>`
      select q.seq::float8 as seq, true as is_gone, false as is_elsewhere from ${each(ofProject)} where exists (
        select from events e where e.project_id = q.of_id and e.type = 'member.removed' and e.seq > q.seq and ${named})
      or exists (select from events e where e.project_id = q.of_id and ${sql.unsafe(isOfLaterEntity('e'))}
        and e.after is null and e.seq > q.seq and ${named})`,
    ofTasks.length === 0
      ? []
      : sql<Since>`
      select q.seq::float8 as seq, exists (
          select from events e where e.task_id = q.of_id and e.id > q.id and e.after is null
            and e.type <> 'task.moved_out' and ${named}) as is_gone,
        exists (select from tasks t
          where t.id = q.entity_id and t.project_id <> ${ofTasks[0]!.projectId}) as is_elsewhere
      from ${each(ofTasks)}`,
  ])
  const seqsOf = (is: 'isGone' | 'isElsewhere') => all.flat().flatMap((one) => (one[is] ? one.seq : []))
  return { goneAgain: new Set(seqsOf('isGone')), elsewhere: new Set(seqsOf('isElsewhere')) }
}

/**
 * Reads how tasks were taken from members after they were removed, the latest first.
 * @throws HttpError 409 if they are too many for one undo
 */
export async function takenFrom(sql: Sql, removals: LoggedEvent[]): Promise<Past['taken']> {
  if (removals.length === 0) return new Map()
  const found = sql`
    select r.seq::float8 as removal, e.seq::float8 as seq, e.entity_id,
      coalesce(char_length(t.title) + coalesce(char_length(t.description), 0), 0) as characters
    from unnest(${removals.map(({ seq }) => seq)}::bigint[],
      ${removals.map(({ before }) => (before as MemberRow).userId)}::text[]) r(seq, user_id)
    cross join lateral (
      select seq, entity_id from events where project_id = ${removals[0]!.projectId} and type = 'task.unassigned'
        and before ->> 'assigneeId' = r.user_id and seq > r.seq order by seq desc limit ${mostAround + 1}) e
    left join tasks t on t.id = e.entity_id`
  const { rows, isTooMuch } = await readBounded<Unassigned & { removal: number }>(sql, found)
  if (isTooMuch) throw tooMuch()
  return Map.groupBy(rows, ({ removal }) => removal)
}
