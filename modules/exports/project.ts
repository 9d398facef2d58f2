import type { FieldRow, LabelRow, ProjectRow, TaskRow } from '../../drizzle/rows.ts'
import { positionKey, tasks } from '../../drizzle/schema/tasks.ts'
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
import { hideDeletedReferences, referencedTasks } from '../../src/model/references.ts'
import { columnList } from '../../src/postgres/columns.ts'
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
  all(entity: Entity): { id: string }[]
  labels: ReadonlyMap<string, string>
  fields: FieldRow[]
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
  const query = sql<(Row & WithPerson & { id: string })[]>`
    select ${visibleColumns(sql, name, 't', snapshot)} ${names} from (${unionOf(sql, rowSources(sql, name, snapshot), ownRows)}) t ${people} order by t.id`
  return snapshot ? unprepared(query) : query
}

/** @throws HttpError 404 if the project was deleted meanwhile */
async function withParts(at: ProjectAt): Promise<ExportedProject> {
  const ofProject = model().all.filter((one) => one.parent === 'project' && one.load === 'with project')
  const names = ofProject.map(({ name }) => name)
  const [[project], ...lists] = await Promise.all([
    readRows<ProjectRow>(at, 'project'),
    ...names.map((name) => readRows<object>(at, name)),
  ])
  if (!project) throw notFound('Project')
  const rows = new Map(names.map((name, n) => [name, lists[n]!]))
  const all = <Row>(name: Entity) => (rows.get(name) ?? []) as (Row & WithPerson & { id: string })[]
  const members = all<{ userId: string }>('member').map(({ userId, ...row }) => ({ ...row, id: userId }))
  const owner = { ...project, id: project.ownerId }
  return {
    ...at,
    project: shownRow(definitionOf('project'), project),
    name: project.name,
    parts: [...rows].flatMap(([name, list]) =>
      list.map((row) => ({ name, shown: shownRow(definitionOf(name), row) })),
    ),
    all,
    labels: new Map(all<LabelRow>('label').map(({ id, name }) => [id, name])),
    fields: all<FieldRow>('field'),
    people: new Map([owner, ...members].flatMap(userOf)),
  }
}

type Person = WithPerson & { id: string }
const userOf = ({ id, personName: name, personEmail: email }: Person): [string, User][] =>
  name == null || email == null ? [] : [[id, { id, name, email }]]

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

/** SQL for the tasks in the order of the project. They may refer to deleted rows. */
export const taskRows = (at: ExportedProject): SqlPart => at.sql`
  select ${columnList(at.sql, tasks, 't')} from (${tasksInOrder(at)}) t order by t.sort_key, t.id`

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

async function existingTasks({ sql, projectId, snapshot }: ExportedProject, ids: string[]) {
  if (ids.length === 0) return new Set<string>()
  const among = sql`any(${ids}::uuid[])`
  const idsIn = (from: SqlPart) =>
    sql`select id from ${from} t where t.id = ${among} and t.project_id = ${projectId}`
  const sources = rowSources(sql, 'task', snapshot, snapshot && among)
  const found = await sql<{ id: string }[]>`${unionOf(sql, sources, idsIn)}`
  return new Set(found.map(({ id }) => id))
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
/** The address is known only while the account is a member of the project. */
type Author = Pick<User, 'id' | 'name'> & Partial<Pick<User, 'email'>>

export interface ExportedTask {
  shown: ShownTask
  author: Author | null
}

/** Returns tasks with their creators. A task whose creation is not in the project's log has no author. */
export async function exportedTasks(
  exported: ExportedProject,
  rows: TaskRow[],
  findPerson: FindPerson,
): Promise<ExportedTask[]> {
  const { sql, projectId } = exported
  const [shown, found] = await Promise.all([
    shownTasks(exported, rows, findPerson),
    sql<{ taskId: string; id: string; name: string }[]>`
      select q.id as task_id, u.id, u.name from unnest(${rows.map(({ id }) => id)}::uuid[]) q(id)
      cross join lateral (select type, project_id, actor_id from events e where e.task_id = q.id order by e.id limit 1) e
      join users u on u.id = e.actor_id where e.type = 'task.created' and e.project_id = ${projectId}`,
  ])
  const authors = new Map(found.map(({ taskId, ...author }) => [taskId, author]))
  return shown.map((one) => ({ shown: one, author: authors.get(one.id) ?? null }))
}

/** Returns tasks as their view shows them, without references to deleted rows. */
export async function shownTasks(
  exported: ExportedProject,
  rows: TaskRow[],
  findPerson: FindPerson,
): Promise<ShownTask[]> {
  const { all, isPast } = exported
  const referenced = [...new Set(rows.flatMap((row) => referencedTasks('task', row)))]
  const idsOf = new Map<Entity, ReadonlySet<string>>([['task', await existingTasks(exported, referenced)]])
  const has = (entity: Entity, id: string) => {
    const known = idsOf.get(entity) ?? new Set(all(entity).map((row) => row.id))
    idsOf.set(entity, known)
    return known.has(id)
  }
  const state = { has, all: all as never, row: () => undefined }
  const holderOf = await showClaims(findPerson, rows, isPast)
  return rows.map((row) => {
    const shown = hideDeletedReferences(state, 'task', row)
    return taskView.of(shown, holderOf?.(row)) as ShownTask
  })
}
