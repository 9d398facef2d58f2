import type { TaskRow } from '../../drizzle/rows.ts'
import type { ReadRequest, Query } from '../../src/commands/query.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { pinToVersion, type Snapshot } from '../../src/log/as-of.ts'
import { pageOf } from '../../src/reads/pages.ts'
import { notFound } from '../../src/responses/errors.ts'
import { respondByDigest, pathAndQuery } from '../../src/responses/reply.ts'
import type { Module } from '../../src/module.ts'
import type { Services } from '../../src/services.ts'
import { taskView, userFields, taskFields } from '../tasks/schema.ts'
import { type HolderOf, showClaims } from '../tasks/shown-claims.ts'
import { needsProject, readTaskFilter, badListQuery, ListTasksQuery } from './list-query.ts'
import { listTasks, maxScannedTasks } from './list.ts'
import { type TaskFilter, byPosition, columnOf, conditionsWithoutIndex } from './sorts.ts'
import { requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import type { Demand } from '../../src/reads/standbys.ts'
import { etagAt } from '../../src/reads/versions.ts'
import { openTaskSearch } from '../search/find.ts'
import { dependsOnTime, conditionsOf, joinedByAnd } from './filters.ts'
import { type TProperties, Type } from '@sinclair/typebox'
import { rowSources, unionOf } from '../../src/log/rows-at.ts'
import { view } from '../../src/model/view.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import { visibleProject } from '../../src/reads/visible.ts'
import { IdOf, OneOf } from '../../src/schema/input.ts'
import { Count, OrNull } from '../../src/schema/response.ts'
import { unknownField } from '../../src/schema/validation.ts'
import * as kinds from '../tasks/kinds.ts'

export const taskLists: Module = {
  reads: (services) => [
    ['/tasks', taskList(services), 'List tasks'],
    ['/tasks/counts', taskCounts(services), 'Count tasks'],
  ],
}

function taskList(services: Services): Query {
  return {
    about: `Returns the tasks of one project, or of all projects of the caller. Without \`sort\`, the order is oldest first; with a filter by due date, earliest due date first. \`dueBefore\` and \`dueAfter\` are exclusive. Tasks without a due date are last with \`sort=dueDate\`, first with \`-dueDate\`. \`sort=position\` lists one project in the order of its tasks. All filters can be combined. Some filters scan at most ${maxScannedTasks} tasks for a page, so a page before the last may have fewer tasks than \`limit\`.`,
    input: ListTasksQuery,
    view: taskView,
    isList: true,
    errors: [...badListQuery(), ...services.snapshots.errors, notFound('Project')],
    read: openReadTasks(services),
  }
}

const viewWith = (holderOf?: HolderOf) => (row: TaskRow) => taskView.of(row, holderOf?.(row))

export const openReadTasks = (services: Services) => openFindTasks(services, openList(services))

const openList = (services: Services) => (reading: Reading, found: Found) => {
  const { filter, project, isCurrent, snapshot } = found
  const { findPerson, serve } = services
  const { request, caller, query } = reading
  const build = async (etag = '') => {
    const page = await pageRows(services, caller, found)
    if (!page) throw notFound('Project')
    const holderOf = await showClaims(findPerson, page.rows, snapshot !== undefined)
    const pinned = snapshot ? pinToVersion(request, snapshot) : request
    // Without an event, the page changes when a claim ends, and when an account is renamed.
    return pageOf(pinned, page, viewWith(holderOf), filter.sort.cursorOf, holderOf ? '' : etag)
  }
  if (!project || !isCurrent || snapshot)
    return build().then((body) => respondByDigest(request, body, (snapshot ?? project)?.version))
  // With `me`, the response depends on the caller.
  const suffix = userFields.some((name) => query[name] === 'me') ? `.${caller.userId}` : ''
  const etag = etagAt(project, suffix)
  const own = dependsOnTime(filter) ? '' : etag
  return serve(request, pathAndQuery(request) + suffix, etag, () => build(own), project.version)
}

function pageRows(services: Services, caller: Caller, found: Found) {
  const { database, snapshots } = services
  const { filter, snapshot } = found
  if (snapshot) return snapshots.read(caller, snapshot, (sql) => listTasks(sql, filter, snapshot))
  const sql = filter.others.some(({ name }) => name === 'foundIds') ? database.searches : database.reads
  return listTasks(placeFor(services, sql, found), filter)
}

export type SeenProject = Omit<VisibleProject, 'role' | 'eventId'>
/** `by`: what the tasks are counted by. */
export type Reading = Pick<ReadRequest, 'request' | 'caller' | 'query'> & { by?: string }
type Reply = Response | Promise<Response>

export interface Found {
  filter: TaskFilter
  project: SeenProject | undefined
  /** True if the response for one project changes only with its version. */
  isCurrent: boolean
  snapshot?: Snapshot | undefined
  /** The state of the documents that the search of the filter read. */
  demand?: Demand | undefined
}
type Respond = (reading: Reading, found: Found) => Reply

/** Returns a function that reads the query of a list of tasks, and finds its project and the tasks of a search. */
function openFindTasks(services: Services, respond: Respond) {
  const { findRole } = services
  const search = openTaskSearch(services)
  /** @param seen the project, if the caller of this function has checked that it is visible */
  return async (reading: Reading, seen?: SeenProject): Promise<Response> => {
    const { caller, query } = reading
    const filter = readTaskFilter(query, caller)
    const { projectId } = filter
    const project =
      seen ?? (projectId === undefined ? undefined : await requireVisible(findRole, caller, projectId))
    if (query.asOf !== undefined) {
      if (!project) throw needsProject('asOf')
      const snapshot = await services.snapshots.find(project, query.asOf)
      if (!snapshot) throw notFound('Project')
      return respond(reading, { filter, project, isCurrent: true, snapshot })
    }
    if (!filter.q) return respond(reading, { filter, project, isCurrent: true })
    const { q, others } = filter
    return search(caller, q, project?.projectId, async (found, { indexed, demand }) => {
      const matching = Object.entries(found).map(([name, value]) => ({ name, value: value as unknown }))
      const complete = { ...filter, others: [...others, ...matching] }
      return respond(reading, { filter: complete, project, isCurrent: indexed === 'all', demand })
    })
  }
}

/** Chooses the server of a list of one project. @param found with the demand of its search */
const placeFor = ({ place }: Services, sql: Sql, { filter, project, isCurrent, demand }: Found) =>
  project && isCurrent && !dependsOnTime(filter) ? place(sql, demand ?? { projects: [project] }) : sql

/** The maximum number of tasks that a request counts. */
const maxCounted = 100_000
const tasksPerRead = 1_000

const countedFields = taskFields.filter(([, { kind }]) => kind === kinds.choice || kind === kinds.user)
export const CountedBy = OneOf(
  'TaskCountedBy',
  countedFields.map(([name]): string => name).concat('labelId', 'none'),
)
/** The values of a field that are listed even if no task has them. */
const valuesOf = (by: string): string[] =>
  (countedFields.find(([name]) => name === by)?.[1].input.enum as string[] | undefined) ?? []

const { sort: _, limit: __, cursor: ___, ...filters } = ListTasksQuery.properties as TProperties
const CountTasksQuery = Type.Object(
  { ...filters, projectId: IdOf('project'), by: Type.Optional(CountedBy) },
  { additionalProperties: Type.String() },
)

const countsView = view<object>({
  name: 'TaskCounts',
  schema: Type.Object({
    version: Count(0, 'The version of the project at which the tasks were counted', 42),
    total: Count(0, 'The number of tasks that match the filters', 12),
    counts: Type.Array(
      Type.Object({
        value: OrNull(
          Type.String(),
          'A value of `by`; null for tasks without a label or an assignee',
          'TODO',
        ),
        count: Count(0, 'The number of tasks with this value', 7),
      }),
      { description: 'The number of tasks for each value. Empty with `by=none`' },
    ),
    isExact: Type.Boolean({
      description: `False if more than ${maxCounted} tasks match, or \`q\` does not cover all tasks yet: the numbers are lower bounds`,
    }),
  }),
})

function taskCounts(services: Services): Query {
  const count = openFindTasks(services, openCount(services))
  return {
    about: `Counts the tasks of a project, with the filters of the list. With \`by\`, also the tasks for each value: a task counts once for each of its labels. Every status and priority is listed, of other values only those that occur, the most frequent first, null last. At most ${maxCounted} matching tasks are counted. One read is charged for each ${tasksPerRead} counted tasks.`,
    operation: { id: 'countTasks', tag: 'Tasks' },
    input: CountTasksQuery,
    view: countsView,
    errors: [...badListQuery(), ...services.snapshots.errors, notFound('Project')],
    async read({ request, caller, query: { by = 'none', ...query } }) {
      const ofLists = ['sort', 'limit', 'cursor'].find((name) => query[name] !== undefined)
      if (ofLists) throw unknownField(ofLists, Object.keys(CountTasksQuery.properties))
      return count({ request, caller, query, by })
    },
  }
}

const openCount = (services: Services) => async (reading: Reading, found: Found) => {
  const { filter, project, isCurrent, snapshot } = found
  const { charge, database, snapshots } = services
  const { request, caller, by = '' } = reading
  const max = await maxReads(database.reads, project!.projectId)
  const work = (sql: Sql) => countTasks(sql, filter, by, snapshot)
  const counted = await (snapshot
    ? snapshots.read(caller, snapshot, work, max, readsFor)
    : charge(caller, max, (sql) => work(placeFor(services, sql, found)), readsFor))
  if (!counted) throw notFound('Project')
  // A search finds its tasks before they are counted, so later changes may be missing.
  const { version } = snapshot ?? (filter.q ? project! : counted)
  const body = bodyOf({ ...counted, version }, by, isCurrent)
  return respondByDigest(request, { body, link: null }, version)
}

/** Returns the number of reads that are charged if all tasks of the project match. */
async function maxReads(sql: Sql, projectId: string): Promise<number> {
  const [row] = await sql<{ tasks: number }[]>`
    select least(last_number, version, ${maxCounted}::int)::float8 as tasks from streams where project_id = ${projectId}`
  return (row?.tasks ?? 0) / tasksPerRead
}

const readsFor = (counted: Counted | undefined): number =>
  Math.ceil(Math.min(counted?.found ?? 0, maxCounted) / tasksPerRead)

interface Counted {
  version: number
  /** At most one more than the maximum. */
  found: number
  values: { value: string | null; count: number }[]
}

/** Counts in one statement, so that the version and the counts belong together. Returns undefined if the project is not visible. */
async function countTasks(sql: Sql, filter: TaskFilter, by: string, snapshot?: Snapshot) {
  const conditions = await conditionsOf(sql, filter, snapshot)
  const { caller } = filter
  const project = sql`${filter.projectId!}::uuid`
  const isLabel = by === 'labelId'
  const value = sql`${sql.unsafe(by === 'none' ? 'null::text' : columnOf(isLabel ? 'labelIds' : by))}`
  const tasks = matchingTasks(sql, filter, conditions, value, snapshot)
  const labels = unionOf(
    sql,
    rowSources(sql, 'label', snapshot).map(
      (from) => sql`select id from ${from} r where project_id = ${project}`,
    ),
  )
  // Tasks with equal lists of labels are counted together, so that few lists are compared with the labels.
  const values = isLabel
    ? sql`select l.id as value, sum(s.count)::int4 as count from sets s
        left join lateral (select x.id from unnest(s.value) x(id) where x.id = any(array(${labels}))) l on true
        group by l.id`
    : sql`select value, count from sets`
  const [row] = await unprepared(sql<Counted[]>`
    with found as materialized (
      select t.value from (${tasks}) t limit ${maxCounted + 1}),
    sets as (select value, count(*)::int4 as count from (select value from found limit ${maxCounted}) f group by value)
    select s.version::float8 as version, (select count(*)::int4 from found) as found,
      (select coalesce(json_agg(v order by value is null, count desc, value), '[]') from (${values}) v) as values
    from ${visibleProject(sql, project, sql`${caller}::uuid`)} p join streams s on s.project_id = p.id`)
  return row
}

/** SQL for the `value` of each task that matches the filter. */
function matchingTasks(
  sql: Sql,
  filter: TaskFilter,
  { indexed, scanned }: Awaited<ReturnType<typeof conditionsOf>>,
  value: SqlPart,
  snapshot?: Snapshot,
): SqlPart {
  const others = [...conditionsWithoutIndex(sql, { ...filter, sort: byPosition }), ...scanned]
  const first = joinedByAnd(sql, [sql`t.project_id = ${filter.projectId!}`, ...indexed])
  // `offset 0` makes Postgres use the index of a condition that few tasks match.
  const narrow = indexed.length > 0 ? sql`offset 0` : sql``
  const matching = (from: SqlPart) => sql`
    select ${value} as value from (select t.* from ${from} t where ${first} ${narrow}) t
    where ${joinedByAnd(sql, [sql`true`, ...others])}`
  return unionOf(sql, rowSources(sql, 'task', snapshot), matching)
}

function bodyOf({ version, found, values }: Counted, by: string, isComplete: boolean): string {
  const listed = valuesOf(by).map((value) => values.find((one) => one.value === value) ?? { value, count: 0 })
  const others = values.filter(({ value }) => !listed.some((one) => one.value === value))
  return JSON.stringify({
    version,
    total: Math.min(found, maxCounted),
    counts: by === 'none' ? [] : [...listed, ...others],
    isExact: isComplete && found <= maxCounted,
  })
}
