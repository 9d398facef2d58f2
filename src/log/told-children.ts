import type { ChildOfTask, Rows } from '../model/entities.ts'
import { model } from '../model/model.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import type { Moment } from './as-of.ts'
import { type Children, noChildren } from './children.ts'
import { mostAround, readBounded, tooMuch } from './overtaken.ts'
import type { LoggedEvent } from './past.ts'
import { since, wordsOf } from './rows-at.ts'

// The log alone tells which children a task had: their rows are deleted or changed by now.

/** Events of one deleted task that are read, at most. */
const mostRead = 100_000

interface Before {
  projectId: SqlPart
  taskId: SqlPart
  eventId: SqlPart
}

const isBefore = (sql: Sql, { projectId, taskId, eventId }: Before) =>
  sql`e.task_id = ${taskId} and e.project_id = ${projectId} and e.id < ${eventId}`

/** The last event by which the task came into its project; null if that has expired or is more than `most` events ago. */
const arrival = (sql: Sql, at: Before, most: number | null = null) => sql`(
  select id from (select id, entity, before from events e where ${isBefore(sql, at)} order by id desc limit ${most}) e
  where entity = 'task' and before is null limit 1)`

/** The children since an arrival: each as the last event about it left it, or as it came with the task. */
const told = (sql: Sql, at: Before, arrivedBy: SqlPart, children = model().ofTask) => sql`
  select * from (
    select distinct on (c.id) c.* from events e cross join lateral (
      select e.entity, e.entity_id as id, e.after where e.entity = any(${children.map(({ name }) => name)}::text[])
      union all
      select k.entity, (a.after ->> 'id')::uuid, a.after
      from unnest(${children.map(({ name }) => name)}::text[], ${children.map(({ plural }) => plural)}::text[]) k(entity, plural)
      cross join lateral jsonb_array_elements(e.after -> k.plural) a(after) where e.type = 'task.moved_in') c
    where ${isBefore(sql, at)} and e.id >= ${arrivedBy} order by c.id, e.id desc) c
  where after is not null`

const atMoment = (sql: Sql, moment: Moment, taskId: string): Before => {
  return { projectId: sql`${moment.projectId}`, taskId: sql`${taskId}`, eventId: since(sql, moment) }
}

export function rowsTold(sql: Sql, entity: ChildOfTask, moment: Moment, taskId: string): SqlPart {
  const { fields, record } = wordsOf(sql, entity)
  const at = atMoment(sql, moment, taskId)
  const children = model().ofTask.filter(({ name }) => name === entity)
  return sql`(select ${fields} from (${told(sql, at, arrival(sql, at), children)}) c
    cross join lateral jsonb_to_record(c.after) as r(${record}))`
}

/** Whether the log still has the event by which the task came, and with it all later ones. */
export async function isArrivalTold(sql: Sql, moment: Moment, taskId: string): Promise<boolean> {
  const at = atMoment(sql, moment, taskId)
  const [found] = await sql<{ isTold: boolean }[]>`select ${arrival(sql, at)} is not null as is_told`
  return found!.isTold
}

type Told = { seq: number; isTold: boolean } & (
  { entity: ChildOfTask; after: Rows[ChildOfTask] } | { entity: null }
)

/**
 * Reads the children that deleted tasks had, by the seq of each deletion; `forgotten` if the log no longer tells.
 * @throws HttpError 409 if they are too many for one undo
 */
export async function childrenOf(
  sql: Sql,
  deletions: Pick<LoggedEvent, 'projectId' | 'entityId' | 'id' | 'seq'>[],
): Promise<Map<number, Children> | 'forgotten'> {
  const children = new Map(deletions.map(({ seq }) => [seq, noChildren()]))
  if (deletions.length === 0) return children
  const projectId = sql`${deletions[0]!.projectId}`
  const at = { projectId, taskId: sql`q.task_id`, eventId: sql`q.event_id` }
  const texts = [...new Set(model().ofTask.flatMap(({ name }) => model().texts[name]))]
  const length = texts.map((key) => `coalesce(char_length(c.after ->> '${key}'), 0)`).join(' + ') || '0'
  const { rows, isTooMuch } = await readBounded<Told>(
    sql,
    sql`select q.seq::float8 as seq, a.id is not null as is_told, c.entity, c.after, ${sql.unsafe(length)} as characters
      from unnest(${deletions.map(({ seq }) => seq)}::bigint[], ${deletions.map(({ entityId }) => entityId)}::uuid[],
        ${deletions.map(({ id }) => id)}::uuid[]) q(seq, task_id, event_id)
      left join lateral ${arrival(sql, at, mostRead)} a on true
      left join lateral (${told(sql, at, sql`a.id`)}) c on true`,
    mostAround + deletions.length,
  )
  if (rows.some(({ isTold }) => !isTold)) return 'forgotten'
  for (const row of rows)
    if (row.entity) (children.get(row.seq)![row.entity] as Rows[ChildOfTask][]).push(row.after)
  const all = [...children.values()].flatMap((one) => Object.values(one))
  if (isTooMuch || all.reduce((sum, { length }) => sum + length, 0) > mostAround) throw tooMuch()
  for (const list of all) list.sort((a, b) => (a.id < b.id ? -1 : 1))
  return children
}
