import type { TaskRow } from '../../drizzle/schema.ts'
import type { Sql } from '../../src/core/database.ts'
import { priorities, type sorts, statuses } from './schema.ts'

export interface TaskFilter {
  caller: string
  /** One project, which the caller may see; else all of the caller's. */
  projectId?: string
  status?: TaskRow['status']
  priority?: TaskRow['priority']
  assigneeId?: string
  dueBefore?: string
  dueAfter?: string
  sort: (typeof sorts)[number]
  limit: number
  /** The last row's key: [id], or [due date, id] when sorted by it. */
  after: (string | null)[] | null
}

/**
 * A page of tasks, with one row more than asked. Each project, and within it each status and priority asked for,
 * gives at most a page from an index in the list's own order, so a page costs the same however deep it lies.
 * Whether the caller may see it is asked in the same moment: undefined when the one project named is out of sight.
 */
export async function listTasks(sql: Sql, filter: TaskFilter): Promise<TaskRow[] | undefined> {
  const order = orderOf(sql, filter)
  const most = filter.limit + 1
  const branch = (status?: string, priority?: string) => sql`
    (select t.* from tasks t where t.project_id = v.id
      ${status ? sql`and t.status = ${status}` : sql``} ${priority ? sql`and t.priority = ${priority}` : sql``}
      ${restOf(sql, filter)} ${order.after} order by ${order.by} limit ${most})`
  const [first, ...others] = branchesOf(filter).map(([status, priority]) => branch(status, priority))
  const page = others.reduce((all, one) => sql`${all} union all ${one}`, first!)
  if (!filter.projectId)
    return sql<TaskRow[]>`
      select t.* from ${visible(sql, filter)} cross join lateral (${page}) t order by ${order.by} limit ${most}`
  // A project in sight gives a row in any case, of nulls when it has no such task.
  const rows = await sql<(TaskRow | { id: null })[]>`
    select t.* from ${visible(sql, filter)} left join lateral (${page}) t on true order by ${order.by} limit ${most}`
  return rows.length ? rows.filter((row) => row.id !== null) : undefined
}

const visible = (sql: Sql, { projectId, caller }: TaskFilter) =>
  projectId
    ? sql`(select p.id from projects p where p.id = ${projectId} and (p.owner_id = ${caller}
        or exists (select from members m where m.project_id = p.id and m.user_id = ${caller}))) v`
    : sql`(select id from projects where owner_id = ${caller}
        union all select p.id from members m join projects p on p.id = m.project_id where m.user_id = ${caller}) v`

/** With a status or a priority, their index gives id order only within one status and one priority. */
function branchesOf({ status, priority, sort, assigneeId }: TaskFilter): [string?, string?][] {
  if (!status && !priority) return [[]]
  if (assigneeId || sort.endsWith('dueDate')) return [[status, priority]]
  const all = status ? [status] : statuses
  return all.flatMap((s) => (priority ? [priority] : priorities).map((p): [string, string] => [s, p]))
}

const restOf = (sql: Sql, { assigneeId, dueBefore, dueAfter }: TaskFilter) => sql`
  ${assigneeId ? sql`and t.assignee_id = ${assigneeId}` : sql``}
  ${dueBefore ? sql`and coalesce(t.due_date, 'infinity') < ${dueBefore}::text::timestamptz` : sql``}
  ${dueAfter ? sql`and coalesce(t.due_date, 'infinity') > ${dueAfter}::text::timestamptz and t.due_date is not null` : sql``}`

function orderOf(sql: Sql, { sort, after }: TaskFilter) {
  const descends = sort.startsWith('-')
  const than = descends ? sql`<` : sql`>`
  const direction = descends ? sql`desc` : sql`asc`
  if (!sort.endsWith('dueDate')) {
    const [id] = after ?? []
    return { by: sql`t.id ${direction}`, after: id ? sql`and t.id ${than} ${id}` : sql`` }
  }
  const [due, id] = after ?? []
  const key = sql`coalesce(t.due_date, 'infinity')`
  return {
    by: sql`${key} ${direction}, t.id ${direction}`,
    after: id
      ? sql`and (${key}, t.id) ${than} (${due ?? 'infinity'}::text::timestamptz, ${id}::uuid)`
      : sql``,
  }
}
