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
import { badAssignee, ListTasksQuery, asOfNeedsProject, readTaskFilter } from './list-query.ts'
import { listTasks, maxScannedTasks } from './list.ts'
import { taskSnapshotParameters, getTaskAsOf, projectIdNeedsAsOf } from './as-of.ts'
import { taskView } from './schema.ts'

export function taskList({ database, findRole, snapshots, serve }: Services): Query {
  return {
    about: `The tasks of one project, or of all projects of the caller. Oldest first; with a filter by due date sorted by due date, unless \`sort\` is given. \`dueBefore\` and \`dueAfter\` are exclusive. Tasks without a due date are last by dueDate, first by -dueDate. A page that is sorted by creation and filtered by due date scans at most ${maxScannedTasks} tasks of a project: it may show fewer than \`limit\` while the Link header leads to the next page.`,
    input: ListTasksQuery,
    view: taskView,
    isList: true,
    errors: [badAssignee(), asOfNeedsProject(), ...snapshots.errors, notFound('Project')],
    async read({ request, caller, query }) {
      const filter = readTaskFilter(query, caller)
      const { projectId, sort } = filter
      const project = projectId === undefined ? undefined : await requireVisible(findRole, caller, projectId)
      const key = (row: TaskRow) => (sort.endsWith('dueDate') ? [row.dueDate, row.id] : [row.id])
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
      // `me` means another user for each caller.
      const suffix = query.assigneeId === 'me' ? `.${caller.userId}` : ''
      const etag = etagAt(project, suffix)
      return serve(request, pathAndQuery(request) + suffix, etag, () => build(etag), project.version)
    },
  }
}

/** The project and the last event of a task that the caller may see: its ETag without its row. */
interface SeenTask extends Versioned {
  eventId: string
}

export const openSeenTasks = (sql: Sql, versions: Versions) =>
  openLookUp<SeenTask>(sql, versions, {
    joins: sql`join tasks t on t.id = q.id`,
    projectId: sql`t.project_id`,
    columns: visibleEventId(sql, 'task', 't'),
    // Without `renaming`, because a task shows no names.
    make: ({ renaming: _, ...seen }, [eventId]) => ({ ...seen, eventId: eventId! }),
  })

export function getTask(services: Services, seeTask: LookUp<SeenTask>): Query {
  const { database, snapshots, serve } = services
  const findTask = openFindTask(database.reads)
  return {
    about: 'Subtasks and comments have their own lists.',
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

/** Reads tasks, many in one query. The query checks visibility again, because a task may just have moved. */
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
