import { type Static, Type } from '@sinclair/typebox'
import type { Query } from '../../src/commands/query.ts'
import { canonicalId, isIdInAnyCase, maxId } from '../../src/id-format.ts'
import type { Entity } from '../../src/model/entities.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { requireVisible, type VisibleProject, openLookUp } from '../../src/reads/lookups.ts'
import {
  Cursor,
  type PageRows,
  Limit,
  pageOf,
  readCursor,
  readLimit,
  readIdPage,
  type Page,
} from '../../src/reads/pages.ts'
import { type OldestSeq, openOldestSeq, seqAt } from '../../src/reads/retention.ts'
import type { Versioned, Versions } from '../../src/reads/versions.ts'
import { notFound } from '../../src/responses/errors.ts'
import { respondByDigest } from '../../src/responses/reply.ts'
import { checked, Input, Instant, isCount, parseInstant } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { model } from '../modules.ts'
import { EventTypes, eventView, type ReadEvent, shownEvent } from './schema.ts'
import { scanCost, maxScannedEvents, eventColumns, isFullPage, readEvents, withPeople } from './rows.ts'
import { view } from '../../src/model/view.ts'
import { Id } from '../../src/schema/response.ts'

const retentionNote = 'If the service deletes old events, the history begins with the oldest remaining event.'
const about = `Returns events, newest first, with the same fields as in the feed and the current names of people. \`from\` and \`to\` are inclusive. With a filter, a page scans at most ${maxScannedEvents} events: a page may show fewer events than \`limit\` although the Link header leads to another page. ${retentionNote}`

const isEntity = (text: string): text is Entity => (model.names as string[]).includes(text)
const isEntityOrId = (value: unknown) => isEntity(value as string) || isIdInAnyCase(value)

const Filter = (check: typeof isIdInAnyCase, description: string, example: string) =>
  Type.Optional(checked<string>(check, { type: 'string', description, examples: [example] }))

const ProjectHistoryQuery = Input({
  entity: Filter(
    isEntityOrId,
    `An entity or an id: ${model.names.join(', ')}, or the id of the changed row`,
    'task',
  ),
  actor: Filter(
    isIdInAnyCase,
    'The id of the user who made the change',
    '019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b',
  ),
  type: EventTypes(),
  from: Type.Optional(Instant()),
  to: Type.Optional(Instant()),
  limit: Limit(50, 200),
  cursor: Cursor(),
})

export function projectHistory(services: Services): Query {
  const { database, findRole, oldestSeq, place, charge } = services
  return {
    about,
    input: ProjectHistoryQuery,
    view: eventView,
    isList: true,
    operation: { id: 'listProjectHistory', tag: 'History' },
    errors: [notFound('Project')],
    async read({ request, caller, query, params: { id } }) {
      const filter = readHistoryFilter(query)
      const project = await requireVisible(findRole, caller, id)
      const { entity, entityId, actorId, types } = filter
      const isFiltered = entity || entityId || actorId || types
      const range = await rangeOf(database.reads, project, filter)
      const cost = isFiltered ? scanCost(range.last + 1 - range.lowest) : 1
      const read = (sql: Sql) => {
        const own = place(sql, { projects: [project], upTo: range.last })
        return readHistoryPage(own, own === sql ? oldestSeq : openOldestSeq(own), project, filter, range)
      }
      const found = range.last < range.lowest ? { rows: [] } : await charge(caller, cost, read)
      const page = pageOf(request, found, eventView.of, ({ seq }) => [String(seq)])
      return respondByDigest(request, page, project.version)
    },
  }
}

type HistoryFilter = ReturnType<typeof readHistoryFilter>

function readHistoryFilter(query: Static<typeof ProjectHistoryQuery>) {
  const { entity = '', type, actor, from, to, limit, cursor } = query
  const [before = null] = cursor === undefined ? [] : readCursor(cursor, [isCount])
  return {
    before: before === null ? Infinity : Number(before),
    limit: readLimit(limit, 50, 200),
    entity: isEntity(entity) ? entity : null,
    entityId: isEntity(entity) ? null : canonicalId(entity) || null,
    actorId: actor === undefined ? null : canonicalId(actor),
    types: type?.split(',') ?? null,
    from: from === undefined ? null : parseInstant(from),
    to: to === undefined ? null : parseInstant(to),
  }
}

/** The seqs that a page scans, and the seq after which the history begins. */
interface HistoryRange {
  last: number
  lowest: number
  after: number
}

async function rangeOf(
  sql: Sql,
  project: VisibleProject,
  { before, from, to }: HistoryFilter,
): Promise<HistoryRange> {
  const { version } = project
  const [upTo, after] = await Promise.all([
    to === null ? version : seqAt(sql, project, to),
    from === null ? 0 : seqAt(sql, project, from, '<'),
  ])
  const last = Math.min(version, upTo, before - 1)
  return { last, after, lowest: Math.max(after + 1, last - maxScannedEvents + 1) }
}

async function readHistoryPage(
  sql: Sql,
  oldestSeq: OldestSeq,
  { projectId }: VisibleProject,
  { entity, entityId, actorId, types, limit }: HistoryFilter,
  { last, lowest, after }: HistoryRange,
): Promise<PageRows<ReadEvent, { seq: number }>> {
  // All filters share one statement, because each connection caches a plan for each statement.
  const rows = await readEvents(
    sql,
    sql`select ${eventColumns(sql)} from events e
    where e.project_id = ${projectId} and e.seq <= ${last}::bigint and e.seq >= ${lowest}::bigint
      and (${types}::text[] is null or e.type = any(${types}::text[]))
      and (${entity}::text is null or e.entity = ${entity}::text)
      and (${entityId}::uuid is null or e.entity_id = ${entityId}::uuid)
      and (${actorId}::uuid is null or e.actor_id = ${actorId}::uuid)
    order by e.seq desc limit ${limit}`,
  )
  const downTo = isFullPage(rows, limit) ? rows.at(-1)!.seq : lowest
  const isOldest = async () => downTo <= ((await oldestSeq(projectId)) ?? 1)
  const [shown, isEnd] = await Promise.all([withPeople(sql, rows), downTo <= after + 1 || isOldest()])
  return isEnd ? { rows: shown } : { rows: shown, last: { seq: downTo } }
}

/** The maximum number of events that a page of a task's history scans. */
const maxScannedOfTask = 500

const aboutTask = `Returns the events of the task, its subtasks and comments, newest first, also from earlier projects of the task and after its deletion. Requires the right to read the task's current or last project. Leaves out events in projects that the caller may not read. A page skips at most ${maxScannedOfTask} such events, so a page may show fewer events than \`limit\` although the Link header leads to another page. ${retentionNote}`

const taskEventView = view<ReadEvent>({
  name: 'TaskEvent',
  schema: Type.Object({
    projectId: Id('The project in which the event has this seq'),
    ...eventView.schema.properties,
  }),
  of: (event) => ({ projectId: event.projectId, ...shownEvent(event) }),
})

export function taskHistory(services: Services): Query {
  const { database, findRole, place, versions } = services
  const findTaskProjects = openFindTaskProjects(database.reads, versions)
  return {
    about: aboutTask,
    input: Input({ limit: Limit(50, 200), cursor: Cursor() }),
    view: taskEventView,
    isList: true,
    operation: { id: 'listTaskHistory', tag: 'History' },
    errors: [notFound('Task')],
    async read({ request, caller, query, params: { id = '' } }) {
      const page = readIdPage(query, 50, 200)
      const task = await requireVisible(findTaskProjects, caller, id, 'Task')
      const others = await Promise.all(task.others.map((projectId) => findRole(caller, projectId)))
      const projects = [task, ...others].flatMap((one?: Versioned) => one ?? [])
      const found = await readTaskPage(place(database.reads, { projects }), id, projects, page)
      return respondByDigest(
        request,
        pageOf(request, found, taskEventView.of, ({ id }) => [id]),
        task.version,
      )
    },
  }
}

/**
 * `projectId`: the current or last project of a task. `others`: the ids of the other projects that the task has left.
 */
interface TaskProjects extends Versioned {
  others: string[]
}

/** Returns undefined if the caller may not see the task's current or last project. */
const openFindTaskProjects = (sql: Sql, versions: Versions) =>
  openLookUp<TaskProjects>(sql, versions, {
    joins: sql`cross join lateral (${lastProject(sql)}) w cross join lateral (${leftProjects(sql)}) o`,
    projectId: sql`w.project_id`,
    columns: sql`o.others`,
    make: (seen, others) => ({ ...seen, others }),
  })

const lastProject = (sql: Sql) => sql`
  select coalesce((select project_id from tasks where id = q.id),
    (select case when type <> 'task.moved_out' then project_id end
      from events where task_id = q.id order by id desc limit 1)) as project_id`

/** SQL for the ids of the other projects that the task has left. Each recursion step reads one id from an index. */
const leftProjects = (sql: Sql) => sql`
  with recursive visited(project_id) as (
    (select project_id from events
      where task_id = q.id and type = 'task.moved_out' order by project_id limit 1)
    union all
    select (select e.project_id from events e
      where e.task_id = q.id and e.type = 'task.moved_out' and e.project_id > visited.project_id
      order by e.project_id limit 1) from visited where visited.project_id is not null)
  select string_agg(visited.project_id::text, ' ') as others from visited where visited.project_id <> w.project_id`

/**
 * Reads a page of the task's events in these projects. Ids can be compared between projects, unlike seqs. If the scan ends
 * before the page is full, the next page begins after the last scanned event.
 */
async function readTaskPage(
  sql: Sql,
  taskId: string,
  projects: Versioned[],
  { cursor, limit }: Page,
): Promise<PageRows<ReadEvent, { id: string }>> {
  const older = sql`from events where task_id = ${taskId} and id < ${cursor ?? maxId} order by id desc`
  const rows = await readEvents(
    sql,
    sql`select ${eventColumns(sql)} from (select * ${older} limit ${maxScannedOfTask}) e
    where e.project_id = any(${projects.map(({ projectId }) => projectId)}::uuid[]) order by e.id desc limit ${limit + 1}`,
  )
  const shown = await withPeople(sql, rows.slice(0, limit))
  if (isFullPage(rows, limit + 1)) return { rows: shown, last: shown.at(-1)! }
  const [end] = await sql<{ id: string }[]>`select id ${older} limit 1 offset ${maxScannedOfTask - 1}`
  return { rows: shown, last: end }
}
