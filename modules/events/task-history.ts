import { Type } from '@sinclair/typebox'
import type { Query } from '../../src/commands/query.ts'
import { maxId } from '../../src/ids.ts'
import { view } from '../../src/model/view.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { openLookUp, requireSeen } from '../../src/reads/lookups.ts'
import { Cursor, type Cut, idPage, Limit, type Page, pageOf } from '../../src/reads/pages.ts'
import { etagAt, type Versioned, type Versions } from '../../src/reads/versions.ts'
import { Id } from '../../src/schema/response.ts'
import { Input } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { pathAndQuery } from '../../src/responses/reply.ts'
import { notFound } from '../../src/responses/errors.ts'
import { lookedAt } from './pages.ts'
import { eventColumns, isCutAt, readEvents, withPeople } from './rows.ts'
import { eventView } from './schema.ts'
import { type ReadEvent, shownEvent } from './views.ts'
import { begins, openTag } from './project-history.ts'

const about = `The task, its subtasks and comments, newest first, through moves between projects, and also after it was deleted. Who may read the project that it is in, or was in last, sees it; what happened in projects that they may not read is left out. ${begins}`

const taskEventView = view<ReadEvent>({
  name: 'TaskEvent',
  schema: Type.Object({ projectId: Id('The project that counts it'), ...eventView.schema.properties }),
  of: (event) => ({ projectId: event.projectId, ...shownEvent(event) }),
})

export function taskHistory(services: Services): Query {
  const { findRole, serve, versions } = services
  const sql = services.database.reads
  const seeTrail = openSeeTrail(sql, versions)
  const tagOf = openTag(services)
  return {
    about,
    input: Input({ limit: Limit(50, 200), cursor: Cursor() }),
    view: taskEventView,
    isList: true,
    operation: { id: 'listTaskHistory', tag: 'History' },
    errors: [notFound('Task')],
    async read({ request, caller, query, params: { id: taskId = '' } }) {
      const page = idPage(query, 50, 200)
      const trail = await requireSeen(seeTrail, caller, taskId, 'Task')
      const others = await Promise.all(trail.others.map((projectId) => findRole(caller, projectId)))
      const projectIds = [trail, ...others].flatMap((one?: Versioned) => one?.projectId ?? [])
      // Not every caller may read the same projects.
      const tag = await tagOf(projectIds)
      const etag = etagAt(trail, `.${trail.renaming}${tag}`)
      const build = async () => {
        const found = await taskEventsBack(sql, taskId, projectIds, page)
        return pageOf(request, found, taskEventView.of, ({ id }) => [id], etag)
      }
      return serve(request, pathAndQuery(request) + tag, etag, build, trail.version)
    },
  }
}

/** The project that a task is in, or was in when it was deleted, and the others that it has left. */
interface Trail extends Versioned {
  others: string[]
}

/** Finds where tasks have been; undefined where the caller may not see the last project. */
const openSeeTrail = (sql: Sql, versions: Versions) =>
  openLookUp<Trail>(sql, versions, {
    joins: sql`cross join lateral (${place(sql)}) w cross join lateral (${left(sql)}) o`,
    projectId: sql`w.project_id`,
    columns: sql`o.others`,
    make: (seen, others) => ({ ...seen, others }),
  })

/** The project of the task, else its last one; null if the task moved on to a project that was purged. */
const place = (sql: Sql) => sql`
  select coalesce((select project_id from tasks where id = q.id),
    (select case when type <> 'task.moved_out' then project_id end
      from events where task_id = q.id order by id desc limit 1)) as project_id`

/** The other projects that the task left: each is found as the next by the index. */
const left = (sql: Sql) => sql`
  with recursive way(project_id) as (
    (select project_id from events
      where task_id = q.id and type = 'task.moved_out' order by project_id limit 1)
    union all
    select (select e.project_id from events e
      where e.task_id = q.id and e.type = 'task.moved_out' and e.project_id > way.project_id
      order by e.project_id limit 1) from way where way.project_id is not null)
  select string_agg(way.project_id::text, ' ') as others from way where way.project_id <> w.project_id`

/**
 * A page of a task's history in the projects that its caller may read, by the ids of events: they grow along its way
 * through projects. A page passes over a bounded number of other events.
 */
async function taskEventsBack(
  sql: Sql,
  taskId: string,
  projectIds: string[],
  { limit, cursor }: Page,
): Promise<Cut<ReadEvent, { id: string }>> {
  const before = cursor ?? maxId
  const rows = await readEvents(
    sql,
    sql`select ${eventColumns(sql)} from (
      select * from events where task_id = ${taskId} and id < ${before} order by id desc limit ${lookedAt}) e
    where e.project_id = any(${projectIds}::uuid[]) order by e.id desc limit ${limit + 1}`,
  )
  const shown = await withPeople(sql, rows.slice(0, limit))
  if (isCutAt(rows, limit + 1)) return { shown, last: shown.at(-1)! }
  const [last] = await sql<{ id: string }[]>`
    select id from events where task_id = ${taskId} and id < ${before} order by id desc offset ${lookedAt - 1} limit 1`
  return { shown, last }
}
