import { getTableName } from 'drizzle-orm'
import type { MemberRow } from '../../drizzle/rows.ts'
import { isRespacingSql, isOfLaterEntity } from '../../drizzle/schema/log.ts'
import { positionKey } from '../../drizzle/schema/tasks.ts'
import type { ProjectCaller } from '../identity/rights.ts'
import type { ChildOfTask, Entity, Rows } from '../model/entities.ts'
import { isRespacing, observedType, type StoredEvent } from '../model/events.ts'
import { personIdOf, definitionOf, model } from '../model/model.ts'
import { eventFields } from '../postgres/columns.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { untilPageFull } from '../reads/pages.ts'
import type { FindPerson, Person } from '../reads/people.ts'
import type { OldestSeq } from '../reads/retention.ts'
import { HttpError, conflict, eventsExpired, notFound } from '../responses/errors.ts'
import { childEntries, type Children, maxMoved, noChildren } from './rows.ts'
import { arrivalEvent, childrenSince, unionOf } from './rows-at.ts'

/** The events of the project that an undo reverses: by their seqs, or by the number of a batch. */
export interface UndoSelection {
  seqs?: number[]
  batch?: number
  /** Checks the caller's rights on the events before other data is loaded. @throws HttpError 403, 409 */
  authorize(projectCaller: ProjectCaller, events: LoggedEvent[]): void
}

export type LoggedEvent = StoredEvent & { taskId: string | null }

interface Unassignment {
  seq: number
  entityId: string
  /** The field that contained the member. */
  name: string
}

/** An event that gave a task another sort key. */
export interface Respacing {
  seq: number
  entityId: string
  from: string
  to: string
}

export interface UndoInput {
  /** The latest first. Leaves out events with new sort keys, because these do not change the order of the tasks. */
  events: LoggedEvent[]
  children: ReadonlyMap<number, Children>
  /** The children of tasks whose creation is undone: the task can be deleted only if this undo deletes them too. */
  currentChildren: { taskId: string; entity: ChildOfTask; id: string }[]
  /** The seqs of deletions whose rows were deleted again later, or moved to another project. */
  deletedAgain: ReadonlySet<number>
  /** The events that cleared fields with removed members, the latest first, by the seq of the removal. */
  unassignments: ReadonlyMap<number, Unassignment[]>
  /** In the order of their seqs, from the events that made room for the first placed task of `events`. */
  respacings: readonly Respacing[]
  people: ReadonlyMap<string, Person>
}

type UndoCaller = ProjectCaller & { projectId: string; version: number }

export type ReadUndoInput = (at: UndoCaller, selection: UndoSelection) => Promise<UndoInput>

/** An undo is rejected because later events changed the same fields or row. The message names their seqs. */
export class UndoConflict extends HttpError {
  constructor(
    readonly event: LoggedEvent,
    /** The changed fields. Empty if the whole row changed. */
    readonly fields: string[],
    readonly undone: number[],
    by: number[] = [],
  ) {
    const what = fields.length > 0 ? [...new Set(fields.map(shownName))].join(', ') : event.entity
    const named = by.length > 0 ? ` by seq ${by.join(', ')}` : ''
    super(409, `Seq ${event.seq} cannot be undone: ${what} changed since${named}`)
  }
}

/** Responses show the columns of a claim as one field. */
const shownName = (field: string): string => (field.startsWith('claim') ? 'claim' : field)

export const maxUndoneEvents = 500
const maxUndoneRows = maxMoved.rows

/** Runs a query with a column `characters`. Postgres stops it when the rows exceed the size limits of an undo. */
async function readBounded<R extends object>(sql: Sql, rows: SqlPart, limit = maxUndoneRows) {
  const some = sql`select * from (${rows}) r limit ${limit + 1}`
  const read = await sql<(R & { characters: number })[]>`
    ${untilPageFull(sql, some, sql`characters`, maxMoved.characters + 1)}`
  const sum = read.reduce((all, { characters }) => all + characters, 0)
  return { rows: read as R[], isTooMuch: read.length > limit || sum > maxMoved.characters }
}

export const undoTooLarge = () =>
  conflict(
    `The undo is too large: one undo takes back at most ${maxUndoneEvents} events, ${maxUndoneRows} rows and ${maxMoved.characters} characters`,
  )

/** Checks the caller's rights before it reads other data. */
export function openReadUndoInput(sql: Sql, oldestSeq: OldestSeq, findPerson: FindPerson): ReadUndoInput {
  return async (at, selection) => {
    const events = await readSelectedEvents(sql, oldestSeq, at, selection)
    selection.authorize(at, events)
    const of = (type: string) => events.filter((event) => event.type === type)
    const deletions = events.filter(({ after }) => !after)
    const [respacings, children, deletedAgain, unassignments, currentChildren] = await Promise.all([
      readRespacings(sql, events),
      readDeletedChildren(sql, of('task.deleted')),
      readDeletedAgain(sql, deletions, events),
      readUnassignments(sql, of('member.removed')),
      readCurrentChildren(sql, of('task.created')),
    ])
    if (children === 'expired') {
      const oldest = (await oldestSeq(at.projectId)) ?? events[0]!.seq
      throw oldest > 1 ? eventsExpired(oldest) : undoTooLarge()
    }
    const ids = accountsIn(events, children)
    const people = await Promise.all(ids.map((key) => findPerson({ by: 'id', key })))
    const byId = new Map(people.flatMap((person) => (person ? [[person.id, person]] : [])))
    return { events, children, deletedAgain, currentChildren, unassignments, respacings, people: byId }
  }
}

/** Leaves out the children of a moved task, because a move cannot be undone. @throws HttpError 404, 409, 410 */
async function readSelectedEvents(
  sql: Sql,
  oldestSeq: OldestSeq,
  { projectId, version }: UndoCaller,
  { seqs = [], batch }: UndoSelection,
): Promise<LoggedEvent[]> {
  const which =
    batch === undefined
      ? sql`e.seq = any(${seqs}::bigint[])`
      : sql`${isOfBatch(sql, projectId, batch)} and (e.seq = ${batch} or not (${sql.unsafe(isRespacingSql('e'))}))`
  const found = sql`
    select r.*, coalesce(char_length(before::text), 0) + coalesce(char_length(after::text), 0) as characters from (
      select ${eventFields(sql)}, e.before, case when e.type <> 'task.moved_in' then e.after end as after from events e
      where e.project_id = ${projectId} and e.seq <= ${version} and ${which} order by e.seq limit ${maxUndoneEvents + 1}) r`
  const { rows, isTooMuch } = await readBounded<LoggedEvent>(sql, found, maxUndoneEvents)
  const events = rows.filter((event) => !isRespacing(event))
  if (isTooMuch) throw undoTooLarge()
  const foundSeqs = new Set(rows.map(({ seq }) => seq))
  const missing = (batch === undefined ? seqs : [batch]).find((seq) => !foundSeqs.has(seq))
  if (missing === undefined) return events.sort((a, b) => b.seq - a.seq)
  const oldest = await oldestSeq(projectId)
  if (oldest !== undefined && missing < oldest && missing <= version) throw eventsExpired(oldest)
  throw notFound(batch === undefined ? `Event ${missing}` : `Batch ${missing}`)
}

/** SQL for the events `e` of a batch, or the event with this seq if it is in no batch. A batch ends before an event of another. */
export const isOfBatch = (sql: Sql, projectId: string, batch: number) => sql`
  e.seq >= ${batch} and e.seq < greatest(${batch}::bigint + 1, coalesce((
    select o.seq from events o where o.project_id = ${projectId} and o.seq >= ${batch} and o.batch is distinct from ${batch}
    order by o.seq limit 1), ${Number.MAX_SAFE_INTEGER}::bigint)) and coalesce(e.batch, e.seq) = ${batch}`

function accountsIn(events: LoggedEvent[], children: UndoInput['children']): string[] {
  const rows = events.flatMap(({ entity, before, after }) =>
    [before, after].map((row): [Entity, object | null] => [entity, row]),
  )
  const childRows = [...children.values()].flatMap(childEntries)
  const ids = [...rows, ...childRows].flatMap(([entity, row]) => (row && personIdOf(entity, row)) || [])
  return [...new Set(ids)]
}

/** The maximum number of events of a task to search for the event by which the task came into the project. */
const maxEventsRead = 100_000

type LoggedChild = { seq: number; isLogged: boolean } & (
  { entity: ChildOfTask; after: Rows[ChildOfTask] } | { entity: null }
)

/** Returns the children of each deleted task by the seq of the deletion. @throws HttpError 409 for too many children */
async function readDeletedChildren(
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

/** Reads the children of created tasks, without those that the creation restored together with the task. @throws HttpError 409 */
async function readCurrentChildren(
  sql: Sql,
  creations: LoggedEvent[],
): Promise<UndoInput['currentChildren']> {
  if (creations.length === 0) return []
  const ids = creations.map(({ entityId }) => entityId)
  const undone = creations.flatMap(({ undoes }) => undoes ?? [])
  const rows = model().ofTask.map(
    ({ name, table }): SqlPart => sql`
      select task_id, ${name} as entity, id, event_id from ${sql(getTableName(table))} where task_id = any(${ids}::uuid[])`,
  )
  const children = await sql<UndoInput['currentChildren'][number][]>`
    select task_id, entity, id from (${unionOf(sql, rows)}) c
    where not exists (
      select from events e where e.task_id = c.task_id and e.id = c.event_id and e.undoes = any(${undone}::bigint[]))
    limit ${maxUndoneRows + 1}`
  if (children.length > maxUndoneRows) throw undoTooLarge()
  return children
}

/** Returns the seqs of the deletions whose rows were deleted again later, or moved to another project. */
async function readDeletedAgain(
  sql: Sql,
  deletions: LoggedEvent[],
  undone: LoggedEvent[],
): Promise<UndoInput['deletedAgain']> {
  if (deletions.length === 0) return new Set()
  const later = sql`e.entity_id = q.entity_id and not e.id = any(${undone.map(({ id }) => id)}::uuid[])`
  const rows = await sql<{ seq: number }[]>`
    select q.seq::float8 as seq
    from unnest(${deletions.map(({ taskId, projectId }) => taskId ?? projectId)}::uuid[], ${deletions.map(({ entityId }) => entityId)}::uuid[],
      ${deletions.map(({ id }) => id)}::uuid[], ${deletions.map(({ seq }) => seq)}::bigint[]) q(parent_id, entity_id, id, seq)
    where exists (select from events e where e.task_id = q.parent_id and e.id > q.id and e.after is null and ${later})
      or exists (
        select from events e where e.project_id = q.parent_id and e.type = 'member.removed' and e.seq > q.seq and ${later})
      or exists (select from events e where e.project_id = q.parent_id and ${sql.unsafe(isOfLaterEntity('e'))}
        and e.after is null and e.seq > q.seq and ${later})`
  return new Set(rows.map(({ seq }) => seq))
}

/** @throws HttpError 409 if there are too many unassigned tasks for one undo */
async function readUnassignments(sql: Sql, removals: LoggedEvent[]): Promise<UndoInput['unassignments']> {
  if (removals.length === 0) return new Map()
  const { users = [] } = definitionOf('task')
  // The text of this expression equals the text of the index on the assignee.
  const unassigned = (name: string) => sql`
    (select seq, entity_id, '${sql.unsafe(name)}' as name from events where project_id = ${removals[0]!.projectId} and type = 'task.unassigned'
      and ${sql.unsafe(`before ->> '${name}'`)} = r.user_id and seq > r.seq order by seq desc limit ${maxUndoneRows + 1})`
  const found = sql`
    select r.seq::float8 as removal, e.seq::float8 as seq, e.entity_id, e.name,
      coalesce(char_length(t.title) + coalesce(char_length(t.description), 0), 0) as characters
    from unnest(${removals.map(({ seq }) => seq)}::bigint[],
      ${removals.map(({ before }) => (before as MemberRow).userId)}::text[]) r(seq, user_id)
    cross join lateral (${unionOf(sql, users.map(unassigned))}) e
    left join tasks t on t.id = e.entity_id`
  const { rows, isTooMuch } = await readBounded<Unassignment & { removal: number }>(sql, found)
  if (isTooMuch) throw undoTooLarge()
  return Map.groupBy(rows, ({ removal }) => removal)
}

/** The maximum number of new sort keys that an undo follows: those of about 80 commits. */
const maxRespacings = 10_000

/** Reads the events that gave tasks new sort keys since the first of the events that moved or deleted a task. */
async function readRespacings(sql: Sql, events: LoggedEvent[]): Promise<Respacing[]> {
  const placed = events.filter(
    ({ entity, before, after }) => entity === 'task' && before && (!after || 'position' in before),
  )
  if (placed.length === 0) return []
  // In a batch, the events that made room for a task come before its own event.
  const from = Math.min(...placed.map(({ seq, batch }) => batch ?? seq))
  const number = sql`(e.after ->> 'number')::int4 as number`
  return sql<Respacing[]>`
    select e.seq::float8 as seq, e.entity_id, e.after ->> 'position' as to, (
      select ${sql.unsafe(positionKey)} from (select e.before ->> 'position' as position, ${number}) r) as from
    from events e where e.project_id = ${placed[0]!.projectId} and e.seq >= ${from} and ${sql.unsafe(isRespacingSql('e'))}
    order by e.seq limit ${maxRespacings}`
}

const maxSearchedEvents = 10_000
const maxNamedEvents = 20

/** Adds the seqs of conflicting events to the error of an undo. Runs after the commit of the actor's commands. */
export const openAddConflictingSeqs =
  (sql: Sql) =>
  async (error: unknown): Promise<never> => {
    if (!(error instanceof UndoConflict)) throw error
    const { event, fields, undone } = error
    const { projectId, entityId, taskId, seq, id } = event
    const later = taskId
      ? sql`task_id = ${taskId} and id > ${id}`
      : sql`project_id = ${projectId} and seq > ${seq}`
    const whole = fields.length === 0
    const { userId = null } = (event.before ?? {}) as { userId?: string }
    // A task's deletion conflicts with a change of the task's subtasks or comments, whichever event was first.
    const rows = await sql<{ seq: number }[]>`
      select seq::float8 as seq from (
        select * from events where ${later} order by ${taskId ? sql`id` : sql`seq`} limit ${maxSearchedEvents}) e
      where project_id = ${projectId} and not seq = any(${undone}::bigint[])
        and not (${sql.unsafe(isRespacingSql())}) and type <> ${observedType} and (
        entity_id = ${entityId} and (before is null or after is null or ${whole} or before ?| ${fields}::text[])
        or entity_id = ${taskId} and after is null or task_id = ${entityId} and ${whole}
        or entity = 'member' and after ->> 'userId' = ${userId} and ${whole})
      order by seq limit ${maxNamedEvents}`
    const seqs = rows.map((row) => row.seq)
    throw new UndoConflict(event, fields, undone, seqs)
  }
