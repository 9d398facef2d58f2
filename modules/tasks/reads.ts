import type { TaskRow } from '../../drizzle/rows.ts'
import type { Query } from '../../src/commands/query.ts'
import { type Caller, isWithinToken } from '../../src/identity/rights.ts'
import { pinToVersion } from '../../src/log/as-of.ts'
import { visibleColumns, visibleEventId } from '../../src/log/rows-at.ts'
import { batched } from '../../src/postgres/batch.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { byOrdinal } from '../../src/postgres/row-order.ts'
import { type LookUp, openLookUp, requireVisible } from '../../src/reads/lookups.ts'
import { pageOf } from '../../src/reads/pages.ts'
import { etagAt, type Versioned, type Versions } from '../../src/reads/versions.ts'
import { type Pair, pairsOf, visibleProject } from '../../src/reads/visible.ts'
import { Input } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { respondByDigest, etagOf, respondWithBody, pathAndQuery } from '../../src/responses/reply.ts'
import { notFound } from '../../src/responses/errors.ts'
import { badListQuery, ListTasksQuery, asOfNeedsProject, readTaskFilter } from './list-query.ts'
import { keyOf } from '../order/keys.ts'
import { listTasks, maxScannedTasks } from './list.ts'
import { taskSnapshotParameters, getTaskAsOf, projectIdNeedsAsOf } from './as-of.ts'
import { taskView } from './schema.ts'

const aboutList = `Returns the tasks of one project, or of all projects of the caller. Without \`sort\`, the order is oldest first; with a filter by due date, earliest due date first. \`dueBefore\` and \`dueAfter\` are exclusive. Tasks without a due date come last with \`sort=dueDate\`, and first with \`sort=-dueDate\`. \`sort=position\` lists one project in the order of its tasks. A page that is sorted by creation and filtered by due date, or sorted by position and filtered, scans at most ${maxScannedTasks} tasks of a project: the page may show fewer tasks than \`limit\` although the Link header leads to another page.`

export function taskList({ database, findRole, snapshots, serve }: Services): Query {
  return {
    about: aboutList,
    input: ListTasksQuery,
    view: taskView,
    isList: true,
    errors: [...badListQuery(), ...snapshots.errors, notFound('Project')],
    async read({ request, caller, query }) {
      const filter = readTaskFilter(query, caller)
      const { projectId, sort } = filter
      const project = projectId === undefined ? undefined : await requireVisible(findRole, caller, projectId)
      const key = sortKeyOf(sort)
      if (query.asOf !== undefined) {
        if (!project) throw asOfNeedsProject()
        const snapshot = await snapshots.find(project, query.asOf)
        const found =
          snapshot && (await snapshots.read(caller, snapshot, (sql) => listTasks(sql, filter, snapshot)))
        if (!found) throw notFound('Project')
        return respondByDigest(
          request,
          pageOf(pinToVersion(request, snapshot), found, taskView.of, key),
          snapshot.version,
        )
      }
      const build = async (etag = '') => {
        const found = await listTasks(database.reads, filter)
        if (!found) throw notFound('Project')
        return pageOf(request, found, taskView.of, key, etag)
      }
      if (!project) return respondWithBody(request, await build())
      // The response for `me` depends on the caller.
      const suffix = query.assigneeId === 'me' ? `.${caller.userId}` : ''
      const etag = etagAt(project, suffix)
      return serve(request, pathAndQuery(request) + suffix, etag, () => build(etag), project.version)
    },
  }
}

const sortKeyOf =
  (sort: string) =>
  (row: TaskRow): (string | null)[] =>
    sort === 'position' ? [keyOf(row)] : sort.endsWith('dueDate') ? [row.dueDate, row.id] : [row.id]

/** The last event of a task that the caller may see, from which the ETag is built without reading the row. */
interface SeenTask extends Versioned {
  eventId: string
}

export const openSeenTasks = (sql: Sql, versions: Versions) =>
  openLookUp<SeenTask>(sql, versions, {
    joins: sql`join tasks t on t.id = q.id`,
    projectId: sql`t.project_id`,
    columns: visibleEventId(sql, 'task', 't'),
    // A task shows no names of accounts, so its ETag does not depend on `renaming`.
    make: ({ renaming: _, ...seen }, [eventId]) => ({ ...seen, eventId: eventId! }),
  })

export function getTask(services: Services, seeTask: LookUp<SeenTask>): Query {
  const { database, snapshots, serve } = services
  const findTask = openFindTask(database.reads)
  return {
    about: 'Returns the task without its subtasks and comments, which have their own lists.',
    input: Input(taskSnapshotParameters()),
    errors: [projectIdNeedsAsOf(), ...snapshots.errors, notFound('Task')],
    view: taskView,
    async read(reading) {
      const { request, caller, params, query } = reading
      if (query.asOf !== undefined || query.projectId !== undefined) return getTaskAsOf(services, reading)
      const { id = '' } = params
      const visible = await requireVisible(seeTask, caller, id, 'Task')
      const build = async () => {
        const task = await findTask(caller, id)
        if (!task) throw notFound('Task')
        return { etag: etagOf(task), body: JSON.stringify(taskView.of(task)), link: null }
      }
      return serve(request, id, etagOf(visible), build, visible.version)
    },
  }
}

/** Reads tasks for several requests in one query, and checks visibility again, because a task may have just moved. */
function openFindTask(sql: Sql) {
  const find = batched({ keys: 500, slots: 2 }, async (pairs: Pair[]) => {
    const rows = await sql<(TaskRow & { n: number })[]>`
      select q.n::int4 as n, ${visibleColumns(sql, 'task', 't')} from ${pairsOf(sql, pairs)} join tasks t on t.id = q.id
      cross join lateral ${visibleProject(sql, sql`t.project_id`, sql`q.user_id`)} p`
    return byOrdinal(pairs.length, rows)
  })
  return async (caller: Caller, id: string) => {
    const task = await find({ userId: caller.userId, id })
    return task && isWithinToken(caller, task.projectId) ? task : undefined
  }
}
