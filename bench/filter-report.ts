import type { FilterRow } from './filters.ts'
import { table } from './table.ts'

const columns = ['filter', 'p50 ms', 'p95 ms', 'tasks', 'all projects: p50 ms', 'p95 ms', 'tasks']

const cells = (one: FilterRow['all']) =>
  one ? [one.p50Ms.toFixed(1), one.p95Ms.toFixed(1), String(one.tasks)] : ['–', '–', '–']

/** The first page of each filter: of one project, and of all projects of the caller. */
export const filterTable = (rows: FilterRow[]): string[] =>
  table(
    columns,
    rows.map(({ filter, project, all }) => [filter, ...cells(project), ...cells(all)]),
  )
