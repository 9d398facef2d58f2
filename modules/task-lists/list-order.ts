import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { maxId, nilId } from '../../src/id-format.ts'
import type { TaskFilter } from './list-query.ts'
import { priorities, statuses } from '../tasks/schema.ts'

export const isPlain = ({ status, priority, assigneeId, ready, sort }: TaskFilter) =>
  !status && !priority && !assigneeId && !ready && sort.endsWith('createdAt')

export type Branch = [status?: string, priority?: string]

/** For a list with a filter, an index has the order of the list only within one status and one priority. */
export function branchesOf(filter: TaskFilter): Branch[] {
  if (isPlain(filter)) return [[]]
  const { status, priority, ready } = filter
  const all = status ? [status] : ready ? statuses.filter((one) => one !== 'DONE') : statuses
  return all.flatMap((s) => (priority ? [priority] : priorities).map((p): Branch => [s, p]))
}

interface UsualFilter {
  status?: string
  priority?: string
  assigneeId?: string
}

export const isInFilter = (sql: Sql, { status, priority, assigneeId }: UsualFilter) => sql`
  ${status ? sql`and t.status = ${status}` : sql``} ${priority ? sql`and t.priority = ${priority}` : sql``}
  ${assigneeId ? sql`and t.assignee_id = ${assigneeId}` : sql``}`

/** A missing bound is infinite, so that lists with one bound or two share one cached statement on each connection. */
export const isDue = (sql: Sql, { dueBefore, dueAfter }: TaskFilter) =>
  dueBefore || dueAfter
    ? sql`(${dueKey(sql)} > ${dueAfter ?? '-infinity'}::text::timestamptz
        and ${dueKey(sql)} < ${dueBefore ?? 'infinity'}::text::timestamptz)`
    : sql`true`

export const dueKey = (sql: Sql) => sql`coalesce(t.due_date, 'infinity')`

/** SQL for the sort key of the last task that a page may contain. */
export interface LastTask {
  id: SqlPart
  due: SqlPart
}

export function orderOf(sql: Sql, filter: TaskFilter, key: SqlPart, last?: LastTask) {
  const { sort, after, assigneeId } = filter
  const descends = sort.startsWith('-')
  const [than, until, direction] = descends ? [sql`<`, sql`>=`, sql`desc`] : [sql`>`, sql`<=`, sql`asc`]
  // These columns do not change the order: they make the planner use the index that ends with the same columns.
  const index = isPlain(filter)
    ? sql`t.number ${direction}`
    : sql`t.created_at ${direction} ${assigneeId ? sql`, t.number ${direction}` : sql``}`
  if (!sort.endsWith('dueDate')) {
    const [id] = after ?? [descends ? maxId : nilId]
    // The project in this bound keeps the planner from the primary key, which would read the tasks of all projects.
    const upTo = (end: SqlPart) =>
      isPlain(filter) ? sql`and (t.project_id, t.id) ${until} (v.id, ${end})` : sql`and t.id ${until} ${end}`
    return {
      by: sql`t.id ${direction}, ${index}`,
      after: sql`and t.id ${than} ${id!} ${last ? upTo(last.id) : sql``}`,
    }
  }
  const [due, id] = after ?? (descends ? [null, maxId] : ['-infinity', nilId])
  const upTo = last ? sql`and (${key}, t.id) ${until} (${last.due}, ${last.id})` : sql``
  return {
    by: sql`${key} ${direction}, t.id ${direction}, ${index}`,
    after: sql`and (${key}, t.id) ${than} (${due ?? 'infinity'}::text::timestamptz, ${id!}::uuid) ${upTo}`,
  }
}
