import { shownRow, type WithPerson } from '../../src/log/rows-with-person.ts'
import type { FieldRow, LabelRow, ProjectRow } from '../../drizzle/rows.ts'
import type { Caller } from '../../src/identity/rights.ts'
import type { Entity } from '../../src/model/entities.ts'
import { definitionOf, model } from '../../src/model/model.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { eventsExpired, openOldestSeq, requireRetained } from '../../src/reads/retention.ts'
import { visibleProject } from '../../src/reads/visible.ts'
import { notFound } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import type { User } from '../accounts/user.ts'
import { hasLoggedChildren, type ProjectAt, projectRows } from './rows.ts'

/** A project in the snapshot of a transaction. */
export interface ExportedProject extends ProjectAt {
  sql: Sql
  version: number
  /** The events between `version` and this version are reversed. */
  currentVersion: number
  maxTasks: number
  exportedAt: string
  /** True for an export with `asOf`. It also shows expired claims. */
  isPast: boolean
}

interface Wanted {
  projectId: string
  asOf?: string | undefined
}

/** SQL for an upper bound of the tasks of a stream `s`. An import may give any number to a task, so numbers alone are none. */
export const maxTasksOf = (sql: Sql) => sql`least(s.last_number, s.version)::float8`

/** @throws HttpError 404 if the caller may not see the project; 400 and 410 for `asOf` */
export async function openExportedProject(
  { snapshots }: Pick<Services, 'snapshots'>,
  sql: Sql,
  { userId }: Caller,
  { projectId, asOf }: Wanted,
): Promise<ExportedProject> {
  const [found] = await sql<{ version: number; maxTasks: number; exportedAt: string }[]>`
    select s.version::float8 as version, ${maxTasksOf(sql)} as max_tasks, now() as exported_at
    from ${visibleProject(sql, sql`${projectId}::uuid`, sql`${userId}::uuid`)} p join streams s on s.project_id = p.id`
  if (!found) throw notFound('Project')
  const exported = { ...found, sql, projectId, currentVersion: found.version, isPast: asOf !== undefined }
  if (asOf === undefined) return exported
  const snapshot = await snapshots.find({ ...exported, lastEventId: '' }, asOf)
  if (!snapshot) throw notFound('Project')
  const { version } = snapshot
  if (version === exported.version) return exported
  const oldestSeq = openOldestSeq(sql)
  await requireRetained(oldestSeq, projectId, version)
  if (!(await hasLoggedChildren(sql, snapshot))) throw eventsExpired((await oldestSeq(projectId)) ?? 1)
  return { ...exported, version, snapshot }
}

/** The rows of a project besides its tasks: few enough to be loaded at once. */
export interface ProjectParts {
  project: object
  name: string
  parts: { name: Entity; shown: object }[]
  /** The rows of an entity. */
  all(entity: Entity): object[]
  ids(entity: Entity): ReadonlySet<string>
  labels: ReadonlyMap<string, string>
  fields: FieldRow[]
  /** The owner and the members. */
  people: ReadonlyMap<string, User>
}

const partsOfProject = () =>
  model().all.filter((one) => one.parent === 'project' && one.load === 'with project')

function readRows<Row>(exported: ExportedProject, name: Entity) {
  const { sql, snapshot } = exported
  const query = sql<(Row & WithPerson)[]>`${projectRows(sql, definitionOf(name), exported)}`
  return snapshot ? unprepared(query) : query
}

/** Returns the name of the project at this version. @throws HttpError 404 if the project was deleted meanwhile */
export async function readName(exported: ExportedProject): Promise<string> {
  const [project] = await readRows<ProjectRow>(exported, 'project')
  if (!project) throw notFound('Project')
  return project.name
}

export async function readParts(exported: ExportedProject): Promise<ProjectParts> {
  const names = partsOfProject().map(({ name }) => name)
  const [[project], ...lists] = await Promise.all([
    readRows<ProjectRow>(exported, 'project'),
    ...names.map((name) => readRows<{ id: string }>(exported, name)),
  ])
  const rows = new Map(names.map((name, n) => [name, lists[n]!]))
  const ofEntity = <Row>(name: Entity) => (rows.get(name) ?? []) as unknown as (Row & WithPerson)[]
  const ids = new Map(
    [...rows.keys()].map((name) => [name, new Set(ofEntity<{ id: string }>(name).map(({ id }) => id))]),
  )
  const members = ofEntity<{ userId: string }>('member').map(({ userId, ...row }) => ({ ...row, id: userId }))
  const owner = { ...project!, id: project!.ownerId }
  return {
    project: shownRow(definitionOf('project'), project!),
    name: project!.name,
    parts: [...rows].flatMap(([name, list]) =>
      list.map((row) => ({ name, shown: shownRow(definitionOf(name), row) })),
    ),
    all: (entity) => rows.get(entity) ?? [],
    ids: (entity) => ids.get(entity) ?? new Set(),
    labels: new Map(ofEntity<LabelRow>('label').map(({ id, name }) => [id, name])),
    fields: ofEntity<FieldRow>('field'),
    people: new Map([owner, ...members].flatMap(userOf)),
  }
}

const userOf = ({
  id,
  personName: name,
  personEmail: email,
}: WithPerson & { id: string }): [string, User][] =>
  name == null || email == null ? [] : [[id, { id, name, email }]]
