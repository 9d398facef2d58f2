import type { TaskRow } from '../../drizzle/rows.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import type { Moment } from '../../src/log/as-of.ts'
import { shownColumns, sourcesOf } from '../../src/log/rows-at.ts'
import { type Cut, cut, fewRows, untilFull } from '../../src/reads/pages.ts'
import { visibleProject } from '../../src/reads/visible.ts'
import { unprepared } from '../../src/postgres/query-timeouts.ts'
import { maxId, nilId } from '../../src/ids.ts'
import type { TaskFilter } from './list-query.ts'
import { priorities, statuses } from './schema.ts'

/** Tasks of a project looked at for one page, at most, where no index has both the list's order and its filter. */
export const lookedAt = 2_000

/**
 * A page of tasks; undefined when the caller may not see the one project named. Each project, and within it each status and
 * priority, adds at most a page from an index in the list's own order, so a page costs the same however deep it lies. At a
 * past `moment` of that project, the rows that have changed since are one branch more.
 */
export async function listTasks(
  sql: Sql,
  filter: TaskFilter,
  moment?: Moment,
): Promise<Cut<TaskRow> | undefined> {
  // Outside the branches, the key is a column: only so Postgres sees that they come in order.
  const { by } = orderOf(sql, filter, sql`t.due`)
  const sources = sourcesOf(sql, 'task', moment)
  const isBySieve = isSieved(filter)
  const page = (rows: number) => (isBySieve ? sieved : merged)(sql, filter, sources, by, rows)
  const most = filter.limit + 1
  const ends = isBySieve ? sql`, t.ends, t.fits` : sql``
  const shown = sql`${shownColumns(sql, 'task', 't', moment)} ${ends}`
  const read = <R extends object>(rows: SqlPart) =>
    most <= fewRows && !moment && !filter.among
      ? sql<R[]>`${rows}`
      : unprepared(sql<R[]>`${untilFull(sql, rows, sql`octet_length(description)`)}`)
  if (!filter.projectId) {
    // Of many projects, only those whose first task is among the first can have a task on the page.
    const rows = await read<Row>(sql`
      with mine as materialized (select id from ${visible(sql, filter)}),
      many as materialized (select count(*) > ${most} as so from mine),
      near as (select id from mine where not (select so from many)
        union all (select v.id from mine v cross join lateral (${page(1)}) t
          where (select so from many) order by ${by} limit ${most}))
      select ${shown} from near v cross join lateral (${page(most)}) t order by ${by} limit ${most}`)
    return cutAtEnd(rows, filter.limit)
  }
  // A project in sight gives a row in any case, of nulls when it has no such task.
  const rows = await read<Row>(sql`
    select ${shown} from ${visible(sql, filter)} left join lateral (${page(most)}) t on true order by ${by} limit ${most}`)
  if (rows.length === 0) return undefined
  return cutAtEnd(rows[0]!.id === null ? [] : rows, filter.limit)
}

/** `ends` marks the last row that was read through; `fits`, rows of the due dates asked for. */
type Row = TaskRow & { ends?: boolean; fits?: boolean }

function cutAtEnd(rows: Row[], limit: number): Cut<TaskRow> {
  const end = rows.findIndex(({ ends }) => ends)
  if (end < 0) return cut(rows, limit)
  const known = rows.slice(0, end + 1).filter(({ fits }) => fits)
  return { last: rows[end], ...cut(known, limit) }
}

/** The first rows of project `v`, merged row by row: of all branches together, little more is read than these. */
function merged(
  sql: Sql,
  filter: TaskFilter,
  [standing, changed]: SqlPart[],
  by: SqlPart,
  rows: number,
): SqlPart {
  const order = orderOf(sql, filter, dueKey(sql))
  const due = filter.sort.endsWith('dueDate') ? sql`, ${dueKey(sql)} as due` : sql``
  const branch = ([status, priority]: Branch, from = standing!) => sql`
    (select t.* ${due} from ${from} t where t.project_id = v.id
      ${status ? sql`and t.status = ${status}` : sql``} ${priority ? sql`and t.priority = ${priority}` : sql``}
      ${filter.assigneeId ? sql`and t.assignee_id = ${filter.assigneeId}` : sql``}
      ${isSieved(filter) ? sql`` : sql`and ${isDue(sql, filter)}`} ${order.after} order by ${order.by} limit ${rows})`
  const branches = branchesOf(filter).map((one) => branch(one))
  if (changed) branches.push(branch([filter.status, filter.priority], changed))
  const [first, ...others] = branches
  if (others.length === 0) return first!
  return sql`select t.* from (${others.reduce((all, one) => sql`${all} union all ${one}`, first!)}) t
    order by ${by} limit ${rows}`
}

/** No index has tasks of some due dates in the order of creation: these are read through. */
const isSieved = ({ sort, dueBefore, dueAfter }: TaskFilter) =>
  sort.endsWith('createdAt') && (dueBefore ?? dueAfter) !== undefined

const sieved = (sql: Sql, filter: TaskFilter, sources: SqlPart[], by: SqlPart, rows: number): SqlPart => sql`
  select t.* from (select t.*, ${isDue(sql, filter)} as fits, row_number() over () = ${lookedAt} as ends
    from (${merged(sql, filter, sources, by, lookedAt)}) t) t
  where t.fits or t.ends order by ${by} limit ${rows}`

const visible = (sql: Sql, { projectId, caller, among }: TaskFilter) =>
  projectId
    ? sql`${visibleProject(sql, sql`${projectId}`, sql`${caller}`)} v`
    : sql`(select id from projects p where owner_id = ${caller} ${only(sql, among)}
        union all select p.id from members m join projects p on p.id = m.project_id
        where m.user_id = ${caller} ${only(sql, among)}) v`

const only = (sql: Sql, among?: string[] | null) => (among ? sql`and p.id = any(${among}::uuid[])` : sql``)

const isPlain = ({ status, priority, assigneeId, sort }: TaskFilter) =>
  !status && !priority && !assigneeId && sort.endsWith('createdAt')

type Branch = [status?: string, priority?: string]

/** Except for the plain list, an index has the list's order only within one status and one priority. */
function branchesOf(filter: TaskFilter): Branch[] {
  if (isPlain(filter)) return [[]]
  const { status, priority } = filter
  const all = status ? [status] : statuses
  return all.flatMap((s) => (priority ? [priority] : priorities).map((p): Branch => [s, p]))
}

/** A missing bound is an end of time: each further text would be another plan on each connection. */
const isDue = (sql: Sql, { dueBefore, dueAfter }: TaskFilter) =>
  dueBefore || dueAfter
    ? sql`(${dueKey(sql)} > ${dueAfter ?? '-infinity'}::text::timestamptz
        and ${dueKey(sql)} < ${dueBefore ?? 'infinity'}::text::timestamptz)`
    : sql`true`

const dueKey = (sql: Sql) => sql`coalesce(t.due_date, 'infinity')`

function orderOf(sql: Sql, filter: TaskFilter, key: SqlPart) {
  const { sort, after, assigneeId } = filter
  const descends = sort.startsWith('-')
  const [than, direction] = descends ? [sql`<`, sql`desc`] : [sql`>`, sql`asc`]
  // Only steers the planner to this index.
  const index = isPlain(filter)
    ? sql`t.number ${direction}`
    : sql`t.created_at ${direction} ${assigneeId ? sql`, t.number ${direction}` : sql``}`
  if (!sort.endsWith('dueDate')) {
    const [id] = after ?? [descends ? maxId : nilId]
    return { by: sql`t.id ${direction}, ${index}`, after: sql`and t.id ${than} ${id!}` }
  }
  const [due, id] = after ?? (descends ? [null, maxId] : ['-infinity', nilId])
  return {
    by: sql`${key} ${direction}, t.id ${direction}, ${index}`,
    after: sql`and (${key}, t.id) ${than} (${due ?? 'infinity'}::text::timestamptz, ${id!}::uuid)`,
  }
}
