import type { Snapshot } from '../../src/log/as-of.ts'
import { rowSources } from '../../src/log/rows-at.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { and, conditionsOf, hasFilters } from './filters.ts'
import {
  branchesOf,
  conditionsWithoutIndex,
  isInBranch,
  isPlain,
  isWithin,
  keyIn,
  type LastTask,
  orderOf,
} from './sorts.ts'
import type { TaskFilter } from './task-filter.ts'

/** The most tasks of a project that one page scans if no index covers both the order and the filter of the list. */
export const maxScannedTasks = 2_000

/** A scan ends after `cap` tasks of each project, and at the task `last`. */
export interface ScanEnd {
  cap: number | SqlPart
  last?: LastTask
}

interface Selection {
  sources: SqlPart[]
  /** Conditions that every subquery of the UNION contains. */
  where: SqlPart
  /** The sources contain few rows, so one branch reads the tasks of all statuses and priorities. */
  isNarrow: boolean
}

/** Returns functions that build SQL for the first rows of project `v`. No `scan` if indexes cover the list. */
export async function openRows(sql: Sql, filter: TaskFilter, by: SqlPart, snapshot?: Snapshot) {
  const sources = rowSources(sql, 'task', snapshot)
  const { indexed, scanned } = hasFilters(filter)
    ? await conditionsOf(sql, filter, snapshot)
    : { indexed: [], scanned: [] }
  const inOrder = filter.bounds.filter(({ field }) => field === filter.sort.field)
  const within = inOrder.map((one) => isWithin(sql, one))
  const residual = [...conditionsWithoutIndex(sql, filter), ...scanned]
  if (indexed.length > 0) {
    // `offset 0` makes Postgres use the index of the condition, not an index in the order of the list.
    const found = sources.map(
      (from) => sql`(select t.* from ${filter.projectId ? sql`` : sql`mine v join`} ${from} t
        ${filter.projectId ? sql`where` : sql`on`} t.project_id = v.id and ${and(sql, indexed)} offset 0)`,
    )
    const where = sql`${allOf(sql, [...within, ...residual])} ${isInBranch(sql, filter)}`
    const selection = { sources: found, where, isNarrow: true }
    return { page: (rows: number) => mergedRows(sql, filter, selection, by, rows), isNarrow: true }
  }
  const selection = { sources, where: allOf(sql, within), isNarrow: false }
  if (residual.length === 0) return { page: (rows: number) => mergedRows(sql, filter, selection, by, rows) }
  const scan = (rows: number, { cap, last }: ScanEnd) => sql`
    select t.* from (select t.*, ${and(sql, residual)} as fits, row_number() over (order by ${by}) = ${cap} ${last ? sql`or t.id = ${last.id}` : sql``} as ends
      from (${mergedRows(sql, filter, selection, by, cap, last)}) t) t
    where t.fits or t.ends order by ${by} limit ${rows}`
  const few = fewFirst(sql, filter, selection, residual)
  const first = (end: ScanEnd) => (few ? sql`${few} union all (${scan(1, end)}) limit 1` : scan(1, end))
  // With a constant, Postgres would read and sort this many rows, although the first rows often fill the page.
  const cap = sql`(select ${maxScannedTasks}::int)`
  return { page: (rows: number) => scan(rows, { cap }), scan, first }
}

/** The list of ready tasks first scans this many tasks, and only then runs a subquery for each status and priority. */
const fewTasks = 8

/** SQL for the first row of project `v` if it is one of the first tasks, which is cheaper than to read all branches. */
function fewFirst(
  sql: Sql,
  filter: TaskFilter,
  selection: Selection,
  residual: SqlPart[],
): SqlPart | undefined {
  const others = { ...filter, ready: false }
  if (!filter.ready || !isPlain(others)) return undefined
  const { by } = orderOf(sql, others, keyIn(sql, others))
  return sql`select * from (select t.*, true as fits, false as ends from (${mergedRows(sql, others, selection, by, fewTasks)}) t
    where ${and(sql, residual)} order by ${by} limit 1) few`
}

/** SQL for the first rows of project `v`. Postgres merges the sorted branches and reads hardly any other rows. */
function mergedRows(
  sql: Sql,
  filter: TaskFilter,
  selection: Selection,
  by: SqlPart,
  rows: number | SqlPart,
  last?: LastTask,
): SqlPart {
  const {
    sources: [unchanged, changed],
    where,
    isNarrow,
  } = selection
  const key = keyIn(sql, filter)
  const order = orderOf(sql, filter, key, last)
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
  parts.length > 0 ? sql`and ${and(sql, parts)}` : sql``
