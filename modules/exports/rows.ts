import { positionKey, tasks } from '../../drizzle/schema/tasks.ts'
import type { Snapshot } from '../../src/log/as-of.ts'
import { arrivalIsLogged, hasLeft, loggedRows } from '../../src/log/logged-children.ts'
import { rowSources, visibleColumns } from '../../src/log/rows-at.ts'
import { personColumns, type WithPerson } from '../../src/log/rows-with-person.ts'
import type { EntityDefinition } from '../../src/model/definition.ts'
import type { ChildOfTask, Entity } from '../../src/model/entities.ts'
import { columnList } from '../../src/postgres/columns.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { partsInOrder } from '../order/parts.ts'

/** A project, now or at a snapshot. */
export interface ProjectAt {
  projectId: string
  snapshot?: Snapshot | undefined
}

export type StoredChild = WithPerson & { taskId: string }

const union = (sql: Sql, parts: SqlPart[]): SqlPart =>
  parts.reduce((all, one): SqlPart => sql`${all} union all ${one}`)

/** SQL for the project, or its rows of an entity, oldest first. */
export function projectRows<E extends Entity>(sql: Sql, definition: EntityDefinition<E>, at: ProjectAt) {
  const { name } = definition
  const { projectId, snapshot } = at
  const { names, people } = personColumns(sql, definition, 't')
  const isOwn = name === 'project' ? sql`t.id = ${projectId}` : sql`t.project_id = ${projectId}`
  const rows = rowSources(sql, name, snapshot).map((from) => sql`(select t.* from ${from} t where ${isOwn})`)
  return sql`select ${visibleColumns(sql, name, 't', snapshot)} ${names} from (${union(sql, rows)}) t ${people} order by t.id`
}

/** SQL for the tasks, each with its `sort_key`. Postgres can read the branches in this order from indexes. */
function tasksInOrder(sql: Sql, { projectId, snapshot }: ProjectAt): SqlPart {
  const [unchanged, changed] = rowSources(sql, 'task', snapshot)
  const key = sql.unsafe(positionKey)
  // With the order in each branch, Postgres merges the branches instead of sorting all tasks.
  const branch = (from: SqlPart, part: string): SqlPart => sql`
    (select t.*, ${key} as sort_key from ${from} t
      where t.project_id = ${projectId} and ${sql.unsafe(part)} order by ${key})`
  const branches = partsInOrder().map((part) => branch(unchanged!, part))
  if (changed) branches.push(branch(changed, 'true'))
  return union(sql, branches)
}

/** SQL for the tasks in the order of the project. They may refer to deleted rows. */
export const taskRows = (sql: Sql, at: ProjectAt): SqlPart => sql`
  select ${columnList(sql, tasks, 't')} from (${tasksInOrder(sql, at)}) t order by t.sort_key, t.id`

/** Returns the ids that belong to tasks of the project. */
export async function existingTasks(sql: Sql, { projectId, snapshot }: ProjectAt, ids: string[]) {
  if (ids.length === 0) return new Set<string>()
  const among = sql`any(${ids}::uuid[])`
  const rows = rowSources(sql, 'task', snapshot, snapshot && among).map(
    (from) => sql`select id from ${from} t where t.id = ${among} and t.project_id = ${projectId}`,
  )
  const found = await sql<{ id: string }[]>`${union(sql, rows)}`
  return new Set(found.map(({ id }) => id))
}

/** Returns the creators of tasks by task id. A task whose creation is not in the project's log has no entry. */
export async function authorsOf(sql: Sql, projectId: string, ids: string[]) {
  const rows = await sql<{ taskId: string; id: string; name: string }[]>`
    select q.id as task_id, u.id, u.name from unnest(${ids}::uuid[]) q(id)
    cross join lateral (select type, project_id, actor_id from events e where e.task_id = q.id order by e.id limit 1) e
    join users u on u.id = e.actor_id where e.type = 'task.created' and e.project_id = ${projectId}`
  return new Map(rows.map(({ taskId, ...author }) => [taskId, author]))
}

/** SQL for the children of all tasks: in the order of the tasks, then oldest first. */
export function childRows(sql: Sql, definition: EntityDefinition<ChildOfTask>, at: ProjectAt): SqlPart {
  const { name } = definition
  const { snapshot } = at
  const { names, people } = personColumns(sql, definition, 'c')
  const ofTask = (from: SqlPart, isRead: SqlPart): SqlPart =>
    sql`(select c.* from ${from} c where c.task_id = k.id and ${isRead})`
  const sources = rowSources(sql, name, snapshot, snapshot && sql`k.id`)
  const children = sources.map((from) => ofTask(from, snapshot ? sql`not k.has_left` : sql`true`))
  if (snapshot) children.push(ofTask(loggedRows(sql, name, snapshot, sql`k.id`), sql`k.has_left`))
  const left = snapshot ? sql`, ${hasLeft(sql, snapshot, sql`t.id`)} as has_left` : sql``
  return sql`
    select ${visibleColumns(sql, name, 'c', snapshot)} ${names}
    from (select t.id, t.sort_key ${left} from (${tasksInOrder(sql, at)}) t) k
    cross join lateral (${union(sql, children)}) c ${people}
    order by k.sort_key, k.id, c.id`
}

/** True if the log has the children of all tasks that were deleted or moved after the snapshot. */
export async function hasLoggedChildren(sql: Sql, snapshot: Snapshot): Promise<boolean> {
  const [, changed] = rowSources(sql, 'task', snapshot)
  const [missing] = await sql`
    select from ${changed!} t where t.project_id = ${snapshot.projectId}
      and ${hasLeft(sql, snapshot, sql`t.id`)} and not ${arrivalIsLogged(sql, snapshot, sql`t.id`)} limit 1`
  return missing === undefined
}
