import type { Snapshot } from '../../src/log/as-of.ts'
import { rowSources } from '../../src/log/rows-at.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { joinedByAnd, conditionsOf, hasFilters } from './filters.ts'
import { branchesOf, conditionsWithoutIndex, isInBranch, isWithin, keyIn, orderOf } from './sorts.ts'
import type { TaskFilter } from './task-filter.ts'

/** The maximum number of tasks of a project that one page scans if no index covers both the order and the filter of the list. */
export const maxScannedTasks = 2_000

interface Selection {
  sources: SqlPart[]
  /** Conditions that every subquery of the UNION contains. */
  where: SqlPart
  /** The sources contain few rows, so one branch reads the tasks of all statuses and priorities. */
  isNarrow: boolean
}

/**
 * Returns a function that builds SQL for the first rows of project `v`. If no index covers the list, it scans at most
 * `cap` tasks of the project. Then `fits` is true for a matching task, and `ends` for the last task of the scan.
 */
export async function openRows(sql: Sql, filter: TaskFilter, by: SqlPart, snapshot?: Snapshot) {
  const sources = rowSources(sql, 'task', snapshot)
  const { indexed, scanned } = hasFilters(filter)
    ? await conditionsOf(sql, filter, snapshot)
    : { indexed: [], scanned: [] }
  const inOrder = filter.bounds.filter(({ field }) => field === filter.sort.field)
  const within = inOrder.map((one) => isWithin(sql, one))
  const residual = [...conditionsWithoutIndex(sql, filter), ...scanned]
  const isNarrow = indexed.length > 0
  // `offset 0` makes Postgres use the index of the condition, not an index in the order of the list.
  const found = (
    from: SqlPart,
  ) => sql`(select t.* from ${filter.projectId ? sql`` : sql`mine v join`} ${from} t
    ${filter.projectId ? sql`where` : sql`on`} t.project_id = v.id and ${joinedByAnd(sql, indexed)} offset 0)`
  const selection: Selection = isNarrow
    ? {
        sources: sources.map(found),
        where: sql`${allOf(sql, [...within, ...residual])} ${isInBranch(sql, filter)}`,
        isNarrow,
      }
    : { sources, where: allOf(sql, within), isNarrow }
  const merged = (rows: number | SqlPart) => mergedRows(sql, filter, selection, by, rows)
  if (isNarrow || residual.length === 0) return { rows: merged, isNarrow, isScan: false }
  // With a constant, Postgres would read and sort this many rows, although the first rows often fill the page.
  const most = sql`(select ${maxScannedTasks}::int)`
  const rows = (max: number, cap = most) => sql`
    select t.* from (select t.*, ${joinedByAnd(sql, residual)} as fits, row_number() over (order by ${by}) = ${cap} as ends
      from (${merged(cap)}) t) t
    where t.fits or t.ends order by ${by} limit ${max}`
  return { rows, isNarrow, isScan: true }
}

/** SQL for the first rows of project `v`. Postgres merges the sorted branches and reads hardly any other rows. */
function mergedRows(
  sql: Sql,
  filter: TaskFilter,
  selection: Selection,
  by: SqlPart,
  rows: number | SqlPart,
): SqlPart {
  const {
    sources: [unchanged, changed],
    where,
    isNarrow,
  } = selection
  const key = keyIn(sql, filter)
  const order = orderOf(sql, filter, key)
  const sortKey = filter.sort.key ? sql`, ${key} as sort_key` : sql``
  const branch = (part: SqlPart, from: SqlPart) => sql`
    (select t.* ${sortKey} from ${from} t where ${isNarrow ? sql`true` : sql`t.project_id = v.id`}
      ${part} ${where} ${order.after} order by ${order.by} limit ${rows})`
  const parts = isNarrow ? [sql``] : branchesOf(sql, filter)
  const branches = parts.map((part) => branch(part, unchanged!))
  if (changed) branches.push(branch(isNarrow ? sql`` : isInBranch(sql, filter), changed))
  const [first, ...others] = branches
  if (others.length === 0) return first!
  return sql`select t.* from (${others.reduce((all, one) => sql`${all} union all ${one}`, first!)}) t
    order by ${by} limit ${rows}`
}

const allOf = (sql: Sql, parts: SqlPart[]): SqlPart =>
  parts.length > 0 ? sql`and ${joinedByAnd(sql, parts)}` : sql``
