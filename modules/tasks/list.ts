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
  const byDue = filter.sort.endsWith('dueDate')
  const order = orderOf(sql, filter, dueKey(sql))
  // Outside, the key is a column: only so Postgres sees that the branches come in order.
  const { by } = orderOf(sql, filter, sql`t.due`)
  const most = filter.limit + 1
  const branch = (status?: string, priority?: string) => sql`
    (select t.* ${byDue ? sql`, ${dueKey(sql)} as due` : sql``} from tasks t where t.project_id = v.id
      ${status ? sql`and t.status = ${status}` : sql``} ${priority ? sql`and t.priority = ${priority}` : sql``}
      ${restOf(sql, filter)} ${order.after} order by ${order.by} limit ${most})`
  const [first, ...others] = branchesOf(filter).map(([status, priority]) => branch(status, priority))
  // Merged row by row: of all branches together, little more is read than the page.
  const page = others.length
    ? sql`select t.* from (${others.reduce((all, one) => sql`${all} union all ${one}`, first!)}) t
        order by ${by} limit ${most}`
    : first!
  if (!filter.projectId)
    return sql<TaskRow[]>`
      select t.* from ${visible(sql, filter)} cross join lateral (${page}) t order by ${by} limit ${most}`
  // A project in sight gives a row in any case, of nulls when it has no such task.
  const rows = await sql<(TaskRow | { id: null })[]>`
    select t.* from ${visible(sql, filter)} left join lateral (${page}) t on true order by ${by} limit ${most}`
  return rows.length ? rows.filter((row) => row.id !== null) : undefined
}

const visible = (sql: Sql, { projectId, caller }: TaskFilter) =>
  projectId
    ? sql`(select p.id from projects p left join members m on m.project_id = p.id and m.user_id = ${caller}
        where p.id = ${projectId} and (p.owner_id = ${caller} or m.id is not null)) v`
    : sql`(select id from projects where owner_id = ${caller}
        union all select p.id from members m join projects p on p.id = m.project_id where m.user_id = ${caller}) v`

/** The list that needs no other order and no other rows than the project's own. */
const isPlain = ({ status, priority, assigneeId, sort }: TaskFilter) =>
  !status && !priority && !assigneeId && sort.endsWith('createdAt')

/** But for the plain list, an index gives the list's order only within one status and one priority. */
function branchesOf(filter: TaskFilter): [string?, string?][] {
  if (isPlain(filter)) return [[]]
  const { status, priority } = filter
  const all = status ? [status] : statuses
  return all.flatMap((s) => (priority ? [priority] : priorities).map((p): [string, string] => [s, p]))
}

const restOf = (sql: Sql, { assigneeId, dueBefore, dueAfter }: TaskFilter) => sql`
  ${assigneeId ? sql`and t.assignee_id = ${assigneeId}` : sql``}
  ${dueBefore ? sql`and ${dueKey(sql)} < ${dueBefore}::text::timestamptz` : sql``}
  ${dueAfter ? sql`and ${dueKey(sql)} > ${dueAfter}::text::timestamptz and ${dueKey(sql)} < 'infinity'` : sql``}`

/** In the words of its index. */
const dueKey = (sql: Sql) => sql`coalesce(t.due_date, 'infinity')`

function orderOf(sql: Sql, filter: TaskFilter, key: ReturnType<typeof dueKey>) {
  const { sort, after, assigneeId } = filter
  const descends = sort.startsWith('-')
  const than = descends ? sql`<` : sql`>`
  const direction = descends ? sql`desc` : sql`asc`
  // Orders nothing any more, and names the index: see there.
  const index = isPlain(filter)
    ? sql`t.number ${direction}`
    : sql`t.created_at ${direction} ${assigneeId ? sql`, t.number ${direction}` : sql``}`
  if (!sort.endsWith('dueDate')) {
    const [id] = after ?? []
    return { by: sql`t.id ${direction}, ${index}`, after: id ? sql`and t.id ${than} ${id}` : sql`` }
  }
  const [due, id] = after ?? []
  return {
    by: sql`${key} ${direction}, t.id ${direction}, ${index}`,
    after: id
      ? sql`and (${key}, t.id) ${than} (${due ?? 'infinity'}::text::timestamptz, ${id}::uuid)`
      : sql``,
  }
}
