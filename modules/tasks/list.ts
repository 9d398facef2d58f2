import type { TaskRow } from '../../drizzle/rows.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import type { Snapshot } from '../../src/log/as-of.ts'
import { visibleColumns, rowSources } from '../../src/log/rows-at.ts'
import { type PageRows, cutToLimit, maxUnmeasuredRows, untilPageFull } from '../../src/reads/pages.ts'
import { ofToken, visibleProject } from '../../src/reads/visible.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import { maxId, nilId } from '../../src/ids.ts'
import type { TaskFilter } from './list-query.ts'
import { isByPosition, positionOrder, rowsByPosition } from './by-position.ts'
import { priorities, statuses } from './schema.ts'

/** The most tasks that one page scans if no index covers both the order and the filter of the list. */
export const maxScannedTasks = 2_000

/**
 * Reads one branch for each project, status and priority. Each branch reads at most one page, from an index in the
 * order of the list, so all pages cost the same. With a snapshot, another branch reads the rows that changed later.
 */
export async function listTasks(
  sql: Sql,
  filter: TaskFilter,
  snapshot?: Snapshot,
): Promise<PageRows<TaskRow> | undefined> {
  // Outside the branches the sort key is a column, so that Postgres knows that the branches are sorted.
  const by = isByPosition(filter) ? positionOrder(sql) : orderOf(sql, filter, sql`t.due`).by
  const sources = rowSources(sql, 'task', snapshot)
  const needsScan = isScanned(filter)
  const page = (rows: number) => (needsScan ? scannedRows : mergedRows)(sql, filter, sources, by, rows)
  const max = filter.limit + 1
  const ends = needsScan ? sql`, t.ends, t.fits` : sql``
  const shown = sql`${visibleColumns(sql, 'task', 't', snapshot)} ${ends}`
  const read = <R extends object>(rows: SqlPart) =>
    max <= maxUnmeasuredRows && !snapshot && !filter.tokenProjects
      ? sql<R[]>`${rows}`
      : unprepared(sql<R[]>`${untilPageFull(sql, rows, sql`octet_length(description)`)}`)
  if (!filter.projectId) {
    // With more projects than rows on a page, the query first orders the projects by their first task: only the first
    // projects in this order, as many as rows, can have a task on the page.
    const rows = await read<Row>(sql`
      with mine as materialized (select id from ${visible(sql, filter)}),
      many as materialized (select count(*) > ${max} as so from mine),
      near as (select id from mine where not (select so from many)
        union all (select v.id from mine v cross join lateral (${page(1)}) t
          where (select so from many) order by ${by} limit ${max}))
      select ${shown} from near v cross join lateral (${page(max)}) t order by ${by} limit ${max}`)
    return cutAtEnd(rows, filter.limit)
  }
  // For a visible project without a matching task, the query returns one row of nulls.
  const rows = await read<Row>(sql`
    select ${shown} from ${visible(sql, filter)} left join lateral (${page(max)}) t on true order by ${by} limit ${max}`)
  if (rows.length === 0) return undefined
  return cutAtEnd(rows[0]!.id === null ? [] : rows, filter.limit)
}

/** `ends`: the scan ended at this row. `fits`: the due date matches the filter. */
type Row = TaskRow & { ends?: boolean; fits?: boolean }

function cutAtEnd(rows: Row[], limit: number): PageRows<TaskRow> {
  const end = rows.findIndex(({ ends }) => ends)
  if (end < 0) return cutToLimit(rows, limit)
  const fitting = rows.slice(0, end + 1).filter(({ fits }) => fits)
  return { last: rows[end], ...cutToLimit(fitting, limit) }
}

/** SQL for the first rows of project `v`. Postgres merges the sorted branches and reads hardly any other rows. */
function mergedRows(
  sql: Sql,
  filter: TaskFilter,
  [unchanged, changed]: SqlPart[],
  by: SqlPart,
  rows: number,
): SqlPart {
  if (isByPosition(filter))
    return rowsByPosition(sql, filter, [unchanged!, ...(changed ? [changed] : [])], rows)
  const order = orderOf(sql, filter, dueKey(sql))
  const due = filter.sort.endsWith('dueDate') ? sql`, ${dueKey(sql)} as due` : sql``
  const branch = ([status, priority]: Branch, from = unchanged!) => sql`
    (select t.* ${due} from ${from} t where t.project_id = v.id
      ${isInFilter(sql, { status, priority, assigneeId: filter.assigneeId } as Partial<TaskFilter>)}
      ${isScanned(filter) ? sql`` : sql`and ${isDue(sql, filter)}`} ${order.after} order by ${order.by} limit ${rows})`
  const branches = branchesOf(filter).map((one) => branch(one))
  if (changed) branches.push(branch([filter.status, filter.priority], changed))
  const [first, ...others] = branches
  if (others.length === 0) return first!
  return sql`select t.* from (${others.reduce((all, one) => sql`${all} union all ${one}`, first!)}) t
    order by ${by} limit ${rows}`
}

/** Returns true if no index covers both the filter and the order of the list, so tasks are scanned. */
const isScanned = ({ sort, status, priority, assigneeId, dueBefore, dueAfter }: TaskFilter) =>
  sort === 'position'
    ? (status ?? priority ?? assigneeId ?? dueBefore ?? dueAfter) !== undefined
    : sort.endsWith('createdAt') && (dueBefore ?? dueAfter) !== undefined

const scannedRows = (
  sql: Sql,
  filter: TaskFilter,
  sources: SqlPart[],
  by: SqlPart,
  rows: number,
): SqlPart => sql`
  select t.* from (select t.*, ${fits(sql, filter)} as fits, row_number() over () = ${maxScannedTasks} as ends
    from (${mergedRows(sql, filter, sources, by, maxScannedTasks)}) t) t
  where t.fits or t.ends order by ${by} limit ${rows}`

/** The conditions that the scanned rows are not known to meet. */
const fits = (sql: Sql, filter: TaskFilter) =>
  isByPosition(filter) ? sql`(${isDue(sql, filter)} ${isInFilter(sql, filter)})` : isDue(sql, filter)

const isInFilter = (sql: Sql, { status, priority, assigneeId }: Partial<TaskFilter>) => sql`
  ${status ? sql`and t.status = ${status}` : sql``} ${priority ? sql`and t.priority = ${priority}` : sql``}
  ${assigneeId ? sql`and t.assignee_id = ${assigneeId}` : sql``}`

const visible = (sql: Sql, { projectId, caller, tokenProjects }: TaskFilter) =>
  projectId
    ? sql`${visibleProject(sql, sql`${projectId}`, sql`${caller}`)} v`
    : sql`(select id from projects p where owner_id = ${caller} ${ofToken(sql, tokenProjects)}
        union all select p.id from members m join projects p on p.id = m.project_id
        where m.user_id = ${caller} ${ofToken(sql, tokenProjects)}) v`

const isPlain = ({ status, priority, assigneeId, sort }: TaskFilter) =>
  !status && !priority && !assigneeId && sort.endsWith('createdAt')

type Branch = [status?: string, priority?: string]

/** For a list with a filter, an index has the order of the list only within one status and one priority. */
function branchesOf(filter: TaskFilter): Branch[] {
  if (isPlain(filter)) return [[]]
  const { status, priority } = filter
  const all = status ? [status] : statuses
  return all.flatMap((s) => (priority ? [priority] : priorities).map((p): Branch => [s, p]))
}

/** A missing bound is infinite, so that lists with one bound or two share one cached statement on each connection. */
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
  // These columns do not change the order. They make the planner use this index.
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
