import type { FieldRow, LabelRow, ProjectRow, TaskRow } from '../../drizzle/rows.ts'
import { positionKey } from '../../drizzle/schema/tasks.ts'
import type { Snapshot } from '../../src/log/as-of.ts'
import {
  arrivalIsLogged,
  hasLeftProject,
  loggedRows,
  rowSources,
  unionOf,
  visibleColumns,
  personColumns,
  shownRow,
  type WithPerson,
} from '../../src/log/rows-at.ts'
import type { EntityDefinition } from '../../src/model/definition.ts'
import type { ChildOfTask, Entity } from '../../src/model/entities.ts'
import { definitionOf, model } from '../../src/model/model.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import type { FindPerson } from '../../src/reads/people.ts'
import { openOldestSeq, requireRetained } from '../../src/reads/retention.ts'
import { visibleProject } from '../../src/reads/visible.ts'
import { eventsExpired, notFound } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'
import type { User } from '../accounts/user.ts'
import { taskView } from '../tasks/schema.ts'
import { showClaims } from '../tasks/shown-claims.ts'
import { partsInOrder } from '../order/keys.ts'

/** A project in the snapshot of a transaction, now or at an earlier version. */
interface ProjectAt {
  sql: Sql
  projectId: string
  snapshot?: Snapshot
  version: number
  /** The id of the last event, at `currentVersion`. */
  lastEventId: string
  /** The events between `version` and this version are reversed. */
  currentVersion: number
  maxTasks: number
  exportedAt: string
  /** True for an export with `asOf`. It also shows expired claims. */
  isPast: boolean
}

/** A project with its rows besides its tasks: few enough to be loaded at once. */
export interface ExportedProject extends ProjectAt {
  project: object
  name: string
  parts: { name: Entity; shown: object }[]
  labels: ReadonlyMap<string, string>
  fieldKeys: string[]
  /** The owner and the members. */
  people: ReadonlyMap<string, User>
}

/**
 * SQL for an upper bound of the number of tasks of a stream `s`. An import may choose high task numbers, so the last
 * number alone may be far too high.
 */
export const maxTasksOf = (sql: Sql) => sql`least(s.last_number, s.version)::float8`

/** @throws HttpError 404 if the caller may not see the project; 400 and 410 for `asOf` */
export async function openExportedProject(
  { snapshots }: Pick<Services, 'snapshots'>,
  sql: Sql,
  userId: string,
  projectId: string,
  asOf?: string,
): Promise<ExportedProject> {
  const [found] = await sql<Pick<ProjectAt, 'version' | 'lastEventId' | 'maxTasks' | 'exportedAt'>[]>`
    select s.version::float8 as version, s.last_event_id, ${maxTasksOf(sql)} as max_tasks, now() as exported_at
    from ${visibleProject(sql, sql`${projectId}::uuid`, sql`${userId}::uuid`)} p join streams s on s.project_id = p.id`
  if (!found) throw notFound('Project')
  const now = { ...found, sql, projectId, currentVersion: found.version, isPast: asOf !== undefined }
  const snapshot = asOf === undefined ? undefined : await snapshots.find(now, asOf)
  if (asOf !== undefined && !snapshot) throw notFound('Project')
  if (!snapshot || snapshot.version === now.version) return withParts(now)
  const { version } = snapshot
  const oldestSeq = openOldestSeq(sql)
  await requireRetained(oldestSeq, projectId, version)
  if (!(await hasLoggedChildren(sql, snapshot))) throw eventsExpired((await oldestSeq(projectId)) ?? 1)
  return withParts({ ...now, version, snapshot })
}

function readRows<Row>({ sql, projectId, snapshot }: ProjectAt, name: Entity) {
  const { names, people } = personColumns(sql, definitionOf(name), 't')
  const isOwn = name === 'project' ? sql`t.id = ${projectId}` : sql`t.project_id = ${projectId}`
  const ownRows = (from: SqlPart) => sql`(select t.* from ${from} t where ${isOwn})`
  const query = sql<(Row & WithPerson)[]>`
    select ${visibleColumns(sql, name, 't', snapshot)} ${names} from (${unionOf(sql, rowSources(sql, name, snapshot), ownRows)}) t ${people} order by t.id`
  return snapshot ? unprepared(query) : query
}

/** @throws HttpError 404 if the project was deleted meanwhile */
async function withParts(at: ProjectAt): Promise<ExportedProject> {
  const ofProject = model().all.filter((one) => one.parent === 'project' && one.load === 'with project')
  const [[project], ...lists] = await Promise.all([
    readRows<ProjectRow>(at, 'project'),
    ...ofProject.map(({ name }) => readRows<object>(at, name)),
  ])
  if (!project) throw notFound('Project')
  const parts = ofProject.flatMap((one, n) =>
    lists[n]!.map((row) => ({ name: one.name, shown: shownRow(one, row) })),
  )
  const shownOf = <Shown>(kind: Entity) =>
    parts.flatMap(({ name, shown }) => (name === kind ? [shown as Shown] : []))
  const { name, ownerId, personName, personEmail } = project
  const owner = { id: ownerId, name: personName, email: personEmail }
  const members = shownOf<{ user: User | null }>('member').map(({ user }) => user)
  const people = [owner, ...members].filter((user): user is User => user?.name != null)
  return {
    ...at,
    project: shownRow(definitionOf('project'), project),
    name,
    parts,
    labels: new Map(shownOf<LabelRow>('label').map(({ id, name }) => [id, name])),
    fieldKeys: shownOf<FieldRow>('field').map(({ key }) => key),
    people: new Map(people.map((user) => [user.id, user])),
  }
}

/** SQL for the tasks, each with its `sort_key`. Postgres can read the branches in this order from indexes. */
function tasksInOrder({ sql, projectId, snapshot }: ProjectAt): SqlPart {
  const [unchanged, changed] = rowSources(sql, 'task', snapshot)
  const key = sql.unsafe(positionKey)
  // With the order in each branch, Postgres merges the branches instead of sorting all tasks.
  const branch = (from: SqlPart, part: string): SqlPart => sql`
    (select t.*, ${key} as sort_key from ${from} t
      where t.project_id = ${projectId} and ${sql.unsafe(part)} order by ${key})`
  const branches = partsInOrder().map((part) => branch(unchanged!, part))
  if (changed) branches.push(branch(changed, 'true'))
  return unionOf(sql, branches)
}

/** SQL for the tasks in the order of the project. A task whose creation is not in the project's log has no author. */
export const taskRows = (at: ExportedProject): SqlPart => at.sql`
  select ${visibleColumns(at.sql, 'task', 't', at.snapshot)}, u.id as author_id, u.name as author_name
  from (${tasksInOrder(at)}) t
  left join lateral (select type, project_id, actor_id from events where task_id = t.id order by id limit 1) e on true
  left join users u on u.id = e.actor_id and e.type = 'task.created' and e.project_id = ${at.projectId}
  order by t.sort_key, t.id`

/** SQL for the children of all tasks: in the order of the tasks, then oldest first. */
export function childRows(at: ExportedProject, definition: EntityDefinition<ChildOfTask>): SqlPart {
  const { sql, snapshot } = at
  const { name } = definition
  const { names, people } = personColumns(sql, definition, 'c')
  const ofTask = (from: SqlPart, isRead: SqlPart): SqlPart =>
    sql`(select c.* from ${from} c where c.task_id = k.id and ${isRead})`
  const sources = rowSources(sql, name, snapshot, snapshot && sql`k.id`)
  const children = sources.map((from) => ofTask(from, snapshot ? sql`not k.has_left` : sql`true`))
  if (snapshot) children.push(ofTask(loggedRows(sql, name, snapshot, sql`k.id`), sql`k.has_left`))
  const left = snapshot ? sql`, ${hasLeftProject(sql, snapshot, sql`t.id`)} as has_left` : sql``
  return sql`
    select ${visibleColumns(sql, name, 'c', snapshot)} ${names}
    from (select t.id, t.sort_key ${left} from (${tasksInOrder(at)}) t) k
    cross join lateral (${unionOf(sql, children)}) c ${people}
    order by k.sort_key, k.id, c.id`
}

/** True if the log has the children of all tasks that were deleted or moved after the snapshot. */
async function hasLoggedChildren(sql: Sql, snapshot: Snapshot): Promise<boolean> {
  const [, changed] = rowSources(sql, 'task', snapshot)
  const [missing] = await sql`
    select from ${changed!} t where t.project_id = ${snapshot.projectId}
      and ${hasLeftProject(sql, snapshot, sql`t.id`)} and not ${arrivalIsLogged(sql, snapshot, sql`t.id`)} limit 1`
  return missing === undefined
}

export interface ShownTask extends Omit<TaskRow, 'labelIds' | 'blockedByIds' | 'fields'> {
  labelIds: string[]
  blockedByIds: string[]
  fields: Record<string, string | number | boolean>
}

/** Returns tasks as their view shows them. */
export async function shownTasks(
  { isPast }: ExportedProject,
  rows: TaskRow[],
  findPerson: FindPerson,
): Promise<ShownTask[]> {
  const holderOf = await showClaims(findPerson, rows, isPast)
  return rows.map((row) => taskView.of(row, holderOf?.(row)) as ShownTask)
}
