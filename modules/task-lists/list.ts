import { LRUCache } from 'lru-cache'
import type { TaskRow } from '../../drizzle/rows.ts'
import { tasks } from '../../drizzle/schema/tasks.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import type { Snapshot } from '../../src/log/as-of.ts'
import { visibleColumns, rowSources, unionOf } from '../../src/log/rows-at.ts'
import { hasReferences } from '../../src/model/references.ts'
import { type PageRows, cutToLimit, maxUnmeasuredRows, untilPageFull } from '../../src/reads/pages.ts'
import { ofToken, visibleProject, visibleProjects } from '../../src/reads/visible.ts'
import { columnList } from '../../src/postgres/columns.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import { hasFilters, projectsOf, joinedByAnd, conditionsOf } from './filters.ts'
import {
  orderOf,
  type TaskFilter,
  branchesOf,
  conditionsWithoutIndex,
  isInBranch,
  isWithin,
  keyIn,
} from './sorts.ts'

/**
 * The maximum number of tasks that one page scans if no index covers both the order and the filter of the list, but at
 * least one task of each project.
 */
export const maxScannedTasks = 2_000

/**
 * Reads one branch for each project, status and priority: at most one page, from an index in the order of the list.
 * So all pages cost the same. With a snapshot, one more branch reads the rows that changed after the snapshot.
 */
export async function listTasks(
  sql: Sql,
  filter: TaskFilter,
  snapshot?: Snapshot,
): Promise<PageRows<TaskRow> | undefined> {
  const { projectId, caller, limit } = filter
  const ofProject = await openRows(sql, filter, snapshot)
  const read = (columns: SqlPart): Promise<Row[]> => {
    const rows = pageRows(sql, filter, columns, ofProject)
    if (snapshot || !isShort(filter))
      return unprepared(sql<Row[]>`${untilPageFull(sql, rows, longTexts(sql))}`)
    return hasFilters(filter) ? unprepared(sql<Row[]>`${rows}`) : sql<Row[]>`${rows}`
  }
  const rows = snapshot
    ? await read(visibleColumns(sql, 'task', 't', snapshot))
    : await readVisible(sql, projectId ?? caller, read)
  if (!projectId) return cutAtEnd(rows, limit)
  // For a visible project without a matching task, the query returns one row of nulls.
  if (rows.length === 0) return undefined
  return cutAtEnd(rows[0]!.id === null ? [] : rows, limit)
}

/** Lists in which this process has seen tasks with references. Only a hint: a wrong one costs time. */
const listsWithReferences = new LRUCache<string, true>({ max: 10_000 })

/**
 * Reads tasks without references faster: the SQL that hides references to deleted rows makes a query of 50 rows twice as
 * slow (measured), even if no row has references. So the first query reads plain columns. If a row has references, all
 * rows are read again, by one query that hides references, and the next reads of the list begin with that query.
 * @param read reads the rows with these columns
 */
async function readVisible(
  sql: Sql,
  list: string,
  read: (columns: SqlPart) => Promise<TaskRow[]>,
): Promise<TaskRow[]> {
  if (!listsWithReferences.has(list)) {
    const rows = await read(columnList(sql, tasks, 't'))
    if (!rows.some((row) => hasReferences('task', row))) return rows
    listsWithReferences.set(list, true)
  }
  return read(visibleColumns(sql, 'task', 't'))
}

/** SQL for the rows of a page and one more row. @param ofProject the first rows of each project */
function pageRows(sql: Sql, filter: TaskFilter, columns: SqlPart, ofProject: RowsOfProject): SqlPart {
  const { rows, by, isNarrow, isScan } = ofProject
  const max = filter.limit + 1
  const shown = isScan ? sql`${columns}, t.ends, t.fits` : columns
  const first = sql`order by ${by} limit ${max}`
  if (filter.projectId)
    return sql`select ${shown} from ${visible(sql, filter)} left join lateral (${rows(max)}) t on true ${first}`
  const mine = sql`mine as materialized (select id from ${visible(sql, filter)})`
  if (isNarrow) return sql`with ${mine} select ${shown} from (${rows(max)}) t ${first}`
  if (isScan)
    return sql`with ${mine}, share as materialized (
        select greatest(1, ${maxScannedTasks}::int / greatest(1, count(*))) as cap from mine)
      select ${shown} from mine v cross join lateral (${rows(max, sql`(select cap from share)`)}) t ${first}`
  // If a caller has more projects than a page has rows, the query first sorts the projects by their first task. Only
  // the first projects in this order can have a task on the page, as many projects as the page has rows.
  return sql`
    with ${mine}, many as materialized (select count(*) > ${max} as so from mine),
    near as (select id from mine where not (select so from many)
      union all (select v.id from mine v cross join lateral (${rows(1)}) t
        where (select so from many) ${first}))
    select ${shown} from near v cross join lateral (${rows(max)}) t ${first}`
}

const isShort = ({ limit, tokenProjects }: TaskFilter) => limit < maxUnmeasuredRows && !tokenProjects

const longTexts = (sql: Sql) =>
  sql`coalesce(octet_length(description), 0) + case when fields is null then 0 else octet_length(fields::text) end`

/** `ends`: the scan ended at this row. `fits`: the row matches the filter. */
type Row = TaskRow & { ends?: boolean; fits?: boolean }

function cutAtEnd(rows: Row[], limit: number): PageRows<TaskRow> {
  const end = rows.findIndex(({ ends }) => ends)
  if (end < 0) return cutToLimit(rows, limit)
  const fitting = rows.slice(0, end + 1).filter(({ fits }) => fits)
  return { last: rows[end], ...cutToLimit(fitting, limit) }
}

const visible = (sql: Sql, filter: TaskFilter) => {
  const { projectId, caller, tokenProjects } = filter
  if (projectId) return sql`${visibleProject(sql, sql`${projectId}`, sql`${caller}`)} v`
  const within = sql`${ofToken(sql, tokenProjects)} ${projectsOf(sql, filter)}`
  return sql`${visibleProjects(sql, sql`${caller}`, within)} v`
}

interface RowsOfProject {
  /** SQL for the first rows of project `v`. A scan reads at most `cap` tasks. */
  rows(max: number, cap?: SqlPart): SqlPart
  /** SQL for the order of the rows. */
  by: SqlPart
  /** An index finds few tasks of all projects, so one branch reads the tasks of all statuses and priorities. */
  isNarrow: boolean
  /** No index covers the list. `fits` is true for a matching task, and `ends` for the last task of the scan. */
  isScan: boolean
}

async function openRows(sql: Sql, filter: TaskFilter, snapshot?: Snapshot): Promise<RowsOfProject> {
  const [unchanged, changed] = rowSources(sql, 'task', snapshot)
  const { indexed, scanned } = hasFilters(filter)
    ? await conditionsOf(sql, filter, snapshot)
    : { indexed: [], scanned: [] }
  const inOrder = filter.bounds.filter(({ field }) => field === filter.sort.field)
  const within = inOrder.map((one) => isWithin(sql, one))
  const residual = [...conditionsWithoutIndex(sql, filter), ...scanned]
  const isNarrow = indexed.length > 0
  // The outer query sorts by a column, not by an expression, so that Postgres can merge the sorted branches.
  const { by } = orderOf(sql, filter, sql`t.sort_key`)
  const all = isNarrow ? [...within, ...residual] : within
  const conditions = all.length > 0 ? sql`and ${joinedByAnd(sql, all)}` : sql``
  // `offset 0` makes Postgres use the index of the condition, not an index in the order of the list.
  const found = (
    from: SqlPart,
  ) => sql`(select t.* from ${filter.projectId ? sql`` : sql`mine v join`} ${from} t
    ${filter.projectId ? sql`where` : sql`on`} t.project_id = v.id and ${joinedByAnd(sql, indexed)} offset 0)`
  const branch = (from: SqlPart, part = isInBranch(sql, filter)) =>
    isNarrow
      ? sql`${found(from)} t where true ${conditions} ${part}`
      : sql`${from} t where t.project_id = v.id ${part} ${conditions}`
  const parts = isNarrow ? [undefined] : branchesOf(sql, filter)
  const branches = [...parts.map((part) => branch(unchanged!, part)), ...(changed ? [branch(changed)] : [])]
  const merged = (rows: number | SqlPart) => mergedRows(sql, filter, branches, by, rows)
  if (isNarrow || residual.length === 0) return { rows: merged, by, isNarrow, isScan: false }
  // With a constant, Postgres would read and sort this many rows, although the first rows often fill the page.
  const maxScanned = sql`(select ${maxScannedTasks}::int)`
  const rows = (max: number, cap = maxScanned) => sql`
    select t.* from (select t.*, ${joinedByAnd(sql, residual)} as fits, row_number() over (order by ${by}) = ${cap} as ends
      from (${merged(cap)}) t) t
    where t.fits or t.ends order by ${by} limit ${max}`
  return { rows, by, isNarrow, isScan: true }
}

/** SQL for the first rows of the branches. Postgres merges the sorted branches and reads hardly any other rows. */
function mergedRows(
  sql: Sql,
  filter: TaskFilter,
  branches: SqlPart[],
  by: SqlPart,
  rows: number | SqlPart,
): SqlPart {
  const key = keyIn(sql, filter)
  const order = orderOf(sql, filter, key)
  const sortKey = filter.sort.key ? sql`, ${key} as sort_key` : sql``
  const merged = unionOf(
    sql,
    branches,
    (branch) => sql`(select t.* ${sortKey} from ${branch} ${order.after} order by ${order.by} limit ${rows})`,
  )
  if (branches.length === 1) return merged
  return sql`select t.* from (${merged}) t order by ${by} limit ${rows}`
}
