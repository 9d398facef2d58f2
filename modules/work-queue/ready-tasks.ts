import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { failedClaim, isLive } from '../../src/model/claims.ts'
import { positionKey } from '../../drizzle/schema/tasks.ts'
import { isId } from '../../src/id-format.ts'
import { observed } from '../../src/model/events.ts'
import { type FactKind, FactNeeded, factQuery } from '../../src/model/definition.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { isUnblocked, isReady } from '../tasks/ready.ts'
import { priorities } from '../tasks/schema.ts'
import type { Static } from '@sinclair/typebox'
import { command, inProject } from '../../src/commands/command.ts'
import { rowSources } from '../../src/log/rows-at.ts'
import { type ClaimNextTask, RecordReady } from './schema.ts'

type TaskFilter = Omit<Static<typeof ClaimNextTask>, 'projectId' | 'leaseSeconds'>

interface WantedTasks extends TaskFilter {
  /** The tasks loaded in addition to one for each command, because other commands of the group may change some tasks. */
  more?: number
}
const moreTasks = 16
/** A group that makes more than this many ready tasks unready finds no further task. */
const maxMoreTasks = 4_096

const filterKey = ({ labels = [], anyLabel = [], priority, assigneeId, maxAttempts }: TaskFilter): string =>
  [labels, anyLabel, priority, assigneeId, maxAttempts].join(' ')

/** False for malformed ids, and for names of rows that the batch creates: no stored task fits them. */
export const hasOnlyIds = ({ labels = [], anyLabel = [], assigneeId }: TaskFilter): boolean =>
  [...labels, ...anyLabel, assigneeId ?? []].flat().every(isId)

interface ReadyTasks {
  /** The ids of the first ready tasks for each filter of a group, and how many more to load if more may be ready. */
  loaded: Map<string, { ids: string[]; more?: number }>
  /** The tasks that earlier commands of the group have created or changed. */
  changed: Set<string>
}

export const readyTasks: FactKind<ReadyTasks, WantedTasks> = {
  create: () => ({ loaded: new Map(), changed: new Set() }),
  copy: ({ loaded, changed }) => ({ loaded, changed: new Set(changed) }),
  apply({ changed }, { entity, entityId }) {
    if (entity === 'task') changed.add(entityId)
  },
  /** One query for all filters: the commands of a group take different tasks. */
  async load(sql, projectId, fact, wanted) {
    const groups = [...Map.groupBy(wanted.filter(hasOnlyIds), filterKey).values()]
    if (groups.length === 0) return []
    const filters = groups.map((group) => {
      const most = group.length + Math.max(...group.map(({ more = moreTasks }) => more))
      return { ...group[0], most }
    })
    const rows = await sql<{ n: number; id: string }[]>`
      select q.n::int4 as n, t.id from rows from (jsonb_to_recordset(${JSON.stringify(filters)}::text::jsonb)
        as (labels uuid[], "anyLabel" uuid[], priority text, "assigneeId" uuid, "maxAttempts" int4, most int4)) with ordinality
        as q(labels, any_label, priority, assignee_id, max_attempts, most, n)
      cross join lateral (${firstReady(sql, projectId)}) t order by q.n, t.rank, t.key`
    const byGroup = Map.groupBy(rows, ({ n }) => n - 1)
    for (const [n, [filter]] of groups.entries()) {
      const ids = (byGroup.get(n) ?? []).map(({ id }) => id)
      const isFull = ids.length >= filters[n]!.most
      fact.loaded.set(filterKey(filter!), { ids, ...(isFull && { more: 4 * ids.length }) })
    }
    return rows.map(({ id }) => id)
  },
}

/**
 * Returns the first task by priority, then position, of the tasks that were ready before the group and still are. If there
 * is none, returns a task that the group has made ready.
 * @throws FactNeeded if further tasks may be ready
 */
export function findReady(state: ProjectState, now: string, filter: TaskFilter): TaskRow | undefined {
  const { loaded, changed } = state.fact(readyTasks)
  const { ids = [], more = Infinity } = loaded.get(filterKey(filter)) ?? {}
  const isFitting = (id: string) => {
    const task = state.row('task', id)
    return task !== undefined && isFree(state, task, now) && fits(task, filter)
  }
  const first = ids.find(isFitting)
  if (first === undefined && more <= maxMoreTasks)
    throw new FactNeeded(factQuery(readyTasks, { ...filter, more }))
  // A blocker whose row is not loaded may be left to do.
  const knowsBlockers = (id: string) =>
    state.row('task', id)?.blockedByIds?.every((blocker) => state.isLoaded('task', blocker)) ?? true
  const found = first ?? [...changed].find((id) => isFitting(id) && knowsBlockers(id))
  return found === undefined ? undefined : state.row('task', found)
}

/** @param task a free task: if it has a claim, the claim has expired */
function fits(task: TaskRow, filter: TaskFilter): boolean {
  const { labels, anyLabel, priority, assigneeId, maxAttempts } = filter
  const { attempts } = task.claimedBy ? failedClaim(task) : task
  if (maxAttempts && (attempts ?? 0) >= maxAttempts) return false
  const has = (id: string) => task.labelIds?.includes(id) === true
  if ((priority && task.priority !== priority) || (assigneeId && task.assigneeId !== assigneeId)) return false
  return (!labels || labels.every(has)) && (!anyLabel?.length || anyLabel.some(has))
}

/** SQL for the first ready tasks that fit filter `q`. An index has the order of ready tasks within each priority. */
function firstReady(sql: Sql, projectId: string): SqlPart {
  const key = sql`${sql.unsafe(positionKey)}`
  const rank = sql`array_position(${priorities.toReversed()}::text[], t.priority)`
  const branch = (where: SqlPart, by: SqlPart) => sql`
    (select t.id, ${rank} as rank, ${key} as key from tasks t
      where t.project_id = ${projectId} and t.status <> 'DONE' and ${where} and ${isUnblocked(sql)} and ${fitsSql(sql)}
      order by ${by} limit q.most)`
  const open = priorities.map((priority) => {
    const text = sql.unsafe(`'${priority}'`)
    // The last condition contains no column of the task, so Postgres skips whole branches.
    return branch(
      sql`t.claimed_by is null and t.priority = ${text} and coalesce(q.priority, ${text}) = ${text}`,
      key,
    )
  })
  // The end of these claims is not recorded yet. They are few, in all projects together.
  const ended = branch(
    sql`t.claimed_by is not null and t.claimed_until <= now() and coalesce(q.priority, t.priority) = t.priority`,
    sql`t.claimed_until`,
  )
  const all = [...open, ended].reduce((some, one): SqlPart => sql`${some} union all ${one}`)
  return sql`(select c.id, c.rank, c.key from (${all}) c order by c.rank, c.key limit q.most)`
}

/** A claim that has expired counts as an attempt before its end is recorded. */
const fitsSql = (sql: Sql): SqlPart => sql`
  (q.max_attempts is null
    or coalesce(t.attempts, 0) + coalesce((t.claimed_until <= now())::int4, 0) < q.max_attempts) and
  (q.assignee_id is null or t.assignee_id = q.assignee_id) and (q.labels is null or coalesce(t.label_ids, '{}') @> q.labels)
  and (coalesce(q.any_label, '{}') = '{}' or t.label_ids && q.any_label)`

export function isFree(state: ProjectState, task: TaskRow, now: string): boolean {
  const { projectId, status, blockedByIds } = task
  if (projectId !== state.projectId || status === 'DONE' || isLive(task, now)) return false
  const isOpen = (blocker?: TaskRow) => blocker?.projectId === projectId && blocker.status !== 'DONE'
  return !blockedByIds?.some((id) => isOpen(state.row('task', id)))
}

/** The tasks without an open blocker that have had no event `task.ready` since an event ended their last blocker. */
const unrecorded: FactKind<Set<string>, Static<typeof RecordReady>['tasks']> = {
  create: () => new Set(),
  copy: (fact) => new Set(fact),
  apply(fact, { type, entityId }) {
    if (type === 'task.ready') fact.delete(entityId)
  },
  async load(sql, projectId, fact, wanted) {
    const all = wanted.flat()
    const rows = await sql<{ id: string }[]>`
      select t.id from unnest(${all.map(({ id }) => id)}::uuid[], ${all.map(({ eventId }) => eventId)}::uuid[]) q(id, event_id)
      join tasks t on t.id = q.id
      where t.project_id = ${projectId} and t.status <> 'DONE' and ${isUnblocked(sql)} and not exists (
        select from events e where e.task_id = q.id and e.id > q.event_id and e.type = 'task.ready'
          and e.project_id = ${projectId})`
    for (const { id } of rows) fact.add(id)
    return rows.map(({ id }) => id)
  },
}

/** Records once for each task that it is ready. A task that is not ready any more, or has a live claim, gets no event. */
export const recordReady = command('task.record_ready', {
  input: RecordReady,
  target: inProject(),
  role: null,
  preload: ({ tasks }) => ({ facts: [factQuery(unrecorded, tasks)] }),
  weight: ({ tasks }) => tasks.length,
  decide(state, context, { tasks }) {
    const ids = state.fact(unrecorded)
    const found = tasks.flatMap(({ id }) => (ids.has(id) && state.project && state.row('task', id)) || [])
    const ready = found.filter((task) => isFree(state, task, context.now))
    return { changes: ready.map((task) => observed(state, context, 'task.ready', task)), answer: undefined }
  },
  message: 'Ready tasks recorded',
})

/** The events of a project with the seqs `after` + 1 to `upTo`. */
export interface Range {
  projectId: string
  after: number
  upTo: number
}

/**
 * SQL for the events of a range that may make tasks ready. `closes`: the task is DONE, deleted or in another project. `had`: the
 * blockers of the task before the event, if the event changed them.
 */
export const endsOfBlockers = (sql: Sql, { projectId, after, upTo }: Record<keyof Range, SqlPart>) => sql`
  select * from (
    select e.seq, e.id as event_id, e.entity_id as task_id, coalesce(e.before ->> 'status' <> 'DONE'
        and (e.after is null or e.after ->> 'status' = 'DONE'), false) as closes,
      case when jsonb_typeof(e.before -> 'blockedByIds') = 'array' and e.after is not null then e.before -> 'blockedByIds' end as had
    from events e where e.project_id = ${projectId} and e.seq > ${after} and e.seq <= ${upTo} and e.entity = 'task') e
  where e.closes or e.had is not null`

/** SQL for the tasks that a closed task of `ended` blocks. `offset 0` makes Postgres use the index of blockers. */
export const dependentsOf = (sql: Sql) => sql`
  select t.id, t.project_id, t.blocked_by_ids from tasks t
  where t.blocked_by_ids && (select array_agg(task_id) from ended where closes) offset 0`

/**
 * Returns the next tasks, in the order of their ids, whose blockers changed in the range. If a task is ready, `eventId` is the
 * last of these changes before which the task had an open blocker; null if the task never had one in the range.
 */
export function findUnblocked(
  sql: Sql,
  { projectId, after, upTo }: Range,
  { afterId, rows }: { afterId: string; rows: number },
) {
  const range = { projectId: sql`${projectId}`, after: sql`${after}::bigint`, upTo: sql`${upTo}::bigint` }
  const snapshot = { projectId, version: sql`(p.seq - 1)` }
  const wasBlocked = rowSources(sql, 'task', snapshot, sql`p.id`).map(
    (source): SqlPart => sql`exists (select from ${source} t where t.id = p.id and t.project_id = ${projectId}
      and not ${isUnblocked(sql, snapshot)})`,
  )
  return sql<{ id: string; eventId: string | null }[]>`
    with ended as materialized (${endsOfBlockers(sql, range)}),
    pair as materialized (
      select l.id, c.seq, c.event_id from (
        select t.id, unnest(t.blocked_by_ids) as blocker_id from (${dependentsOf(sql)}) t where t.project_id = ${projectId}
        union all select task_id, b.id::uuid from ended cross join jsonb_array_elements_text(had) b(id)) l
      join ended c on c.closes and c.task_id = l.blocker_id
      union select task_id, seq, event_id from ended where had is not null)
    select p.id, max(p.event_id::text) filter (where exists (
        select from tasks t where t.id = p.id and t.project_id = ${projectId} and ${isReady(sql)})
      and (${wasBlocked.reduce((all, one): SqlPart => sql`${all} or ${one}`)})) as event_id
    from pair p where p.id in (select distinct id from pair where id > ${afterId}::uuid order by id limit ${rows})
    group by p.id order by p.id`
}
