import { Type } from '@sinclair/typebox'
import type { Query } from '../../src/commands/query.ts'
import { maxId } from '../../src/id-format.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { view } from '../../src/model/view.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { openLookUp, requireVisible } from '../../src/reads/lookups.ts'
import { Cursor, type PageRows, readIdPage, Limit, type Page, pageOf } from '../../src/reads/pages.ts'
import { etagAt, type Versioned, type Versions } from '../../src/reads/versions.ts'
import { notFound } from '../../src/responses/errors.ts'
import { pathAndQuery } from '../../src/responses/reply.ts'
import { Input } from '../../src/schema/input.ts'
import { Id } from '../../src/schema/response.ts'
import type { Services } from '../../src/services.ts'
import { retentionNote, openLogTag } from './project-history.ts'
import {
  eventsPerRead,
  maxScannedEvents,
  scanCost,
  eventColumns,
  isFullPage,
  readEvents,
  withPeople,
} from './rows.ts'
import { eventView, type ReadEvent, shownEvent } from './schema.ts'

const about = `Returns the events of the task, its subtasks and comments, newest first, also from earlier projects of the task and after its deletion. Requires the right to read the task's current or last project. Leaves out events in projects that the caller may not read. A page skips at most ${maxScannedEvents} such events, so a page may show fewer events than \`limit\` although the Link header leads to another page. ${retentionNote}`

const taskEventView = view<ReadEvent>({
  name: 'TaskEvent',
  schema: Type.Object({
    projectId: Id('The project in which the event has this seq'),
    ...eventView.schema.properties,
  }),
  of: (event) => ({ projectId: event.projectId, ...shownEvent(event) }),
})

export function taskHistory(services: Services): Query {
  const { findRole, serve, versions } = services
  const findTaskProjects = openFindTaskProjects(services.database.reads, versions)
  const readPage = openReadPage(services)
  const logTag = openLogTag(services)
  return {
    about,
    input: Input({ limit: Limit(50, 200), cursor: Cursor() }),
    view: taskEventView,
    isList: true,
    operation: { id: 'listTaskHistory', tag: 'History' },
    errors: [notFound('Task')],
    async read({ request, caller, query, params: { id: taskId = '' } }) {
      const page = readIdPage(query, 50, 200)
      const task = await requireVisible(findTaskProjects, caller, taskId, 'Task')
      const others = await Promise.all(task.others.map((projectId) => findRole(caller, projectId)))
      const projects = [task, ...others].flatMap((one?: Versioned) => one ?? [])
      const tag = await logTag(projects.map(({ projectId }) => projectId))
      const etag = etagAt(task, `.${task.renaming}${tag}`)
      const build = async () => {
        const found = await readPage(caller, { taskId, projects, page })
        return pageOf(request, found, taskEventView.of, ({ id }) => [id], etag)
      }
      return serve(request, pathAndQuery(request) + tag, etag, build, task.version)
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

interface Wanted {
  taskId: string
  projects: Versioned[]
  page: Page
}

/**
 * Returns a function that reads a page. The events that the caller may see usually fill a page after few events. If not,
 * the caller pays for all events that a longer scan reads.
 */
const openReadPage =
  ({ charge, database, place }: Pick<Services, 'charge' | 'database' | 'place'>) =>
  async (caller: Caller, wanted: Wanted): Promise<HistoryPage> => {
    const first = await scan(place(database.reads, wanted), wanted, eventsPerRead)
    if (first) return first
    const { taskId, page } = wanted
    const [row] = await database.reads<{ count: number }[]>`
      select count(*)::int4 as count from (${eventsOf(database.reads, taskId, page, maxScannedEvents)}) e`
    const read = (sql: Sql) => scan(sql, wanted, maxScannedEvents, true)
    return (await charge(caller, scanCost(row!.count), read))!
  }

type HistoryPage = PageRows<ReadEvent, { id: string }>

/** SQL for the ids of the task's events before the page, newest first. Ids can be compared between projects, unlike seqs. */
const eventsOf = (sql: Sql, taskId: string, { cursor }: Page, limit: number) => sql`
  select id from events where task_id = ${taskId} and id < ${cursor ?? maxId} order by id desc limit ${limit}`

/** Scans at most `max` events. Returns undefined if they do not fill the page and more follow, unless `isLast`. */
async function scan(
  sql: Sql,
  { taskId, projects, page }: Wanted,
  max: number,
  isLast = false,
): Promise<HistoryPage | undefined> {
  const { limit, cursor } = page
  const rows = await readEvents(
    sql,
    sql`select ${eventColumns(sql)} from (
      select * from events where task_id = ${taskId} and id < ${cursor ?? maxId} order by id desc limit ${max}) e
    where e.project_id = any(${projects.map(({ projectId }) => projectId)}::uuid[]) order by e.id desc limit ${limit + 1}`,
  )
  const isFull = isFullPage(rows, limit + 1)
  const [end] = isFull ? [] : await sql<{ id: string }[]>`${eventsOf(sql, taskId, page, 1)} offset ${max - 1}`
  if (end && !isLast && rows.length < limit) return undefined
  const shown = await withPeople(sql, rows.slice(0, limit))
  return { rows: shown, last: isFull || (end && rows.length === limit) ? shown.at(-1)! : end }
}
