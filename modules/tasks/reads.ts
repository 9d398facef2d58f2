import type { TaskRow } from '../../drizzle/rows.ts'
import type { Query } from '../../src/commands/query.ts'
import { type Caller, isWithinToken } from '../../src/identity/rights.ts'
import { pinned } from '../../src/log/as-of.ts'
import { shownColumns, shownEventId } from '../../src/log/rows-at.ts'
import { batched } from '../../src/postgres/batch.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { byOrdinal } from '../../src/postgres/row-order.ts'
import { type LookUp, openLookUp, requireSeen } from '../../src/reads/lookups.ts'
import { pageOf } from '../../src/reads/pages.ts'
import { etagAt, type Versioned, type Versions } from '../../src/reads/versions.ts'
import { type Pair, pairsOf, visibleProject } from '../../src/reads/visible.ts'
import { Input } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { respondByDigest, etagOf, respondWithBody, pathAndQuery } from '../../src/responses/reply.ts'
import { notFound } from '../../src/responses/errors.ts'
import { badAssignee, ListTasksQuery, ofOneProject, readTaskFilter } from './list-query.ts'
import { listTasks, lookedAt } from './list.ts'
import { asOfTask, showThen, withoutAsOf } from './past.ts'
import { taskView } from './schema.ts'

export function taskList({ database, findRole, moments, serve }: Services): Query {
  return {
    about: `Of one project, or across the caller's. Oldest first; filtered by due date in order of that, unless \`sort\` is given. Neither \`dueBefore\` nor \`dueAfter\` itself is inside. Without a due date: last by dueDate, first by -dueDate. Sorted by creation and filtered by due date, a page looks at ${lookedAt} tasks of a project at most: it may show fewer than \`limit\`, and the Link header leads on.`,
    input: ListTasksQuery,
    view: taskView,
    isList: true,
    errors: [badAssignee(), ofOneProject(), ...moments.errors, notFound('Project')],
    async read({ request, caller, query }) {
      const filter = readTaskFilter(query, caller)
      const { projectId, sort } = filter
      const seen = projectId === undefined ? undefined : await requireSeen(findRole, caller, projectId)
      const key = (row: TaskRow) => (sort.endsWith('dueDate') ? [row.dueDate, row.id] : [row.id])
      if (query.asOf !== undefined) {
        if (!seen) throw ofOneProject()
        const moment = await moments.find(seen, query.asOf)
        const found = moment && (await moments.read(caller, moment, (sql) => listTasks(sql, filter, moment)))
        if (!found) throw notFound('Project')
        return respondByDigest(
          request,
          pageOf(pinned(request, moment), found, taskView.of, key),
          moment.version,
        )
      }
      const build = async (etag = '') => {
        const found = await listTasks(database.reads, filter)
        if (!found) throw notFound('Project')
        return pageOf(request, found, taskView.of, key, etag)
      }
      if (!seen) return respondWithBody(request, await build())
      // `me` is somebody else for each caller.
      const whose = query.assigneeId === 'me' ? `.${caller.userId}` : ''
      const etag = etagAt(seen, whose)
      return serve(request, pathAndQuery(request) + whose, etag, () => build(etag), seen.version)
    },
  }
}

/** A task before its body is looked for: its project, and the last event of both. */
interface SeenTask extends Versioned {
  eventId: string
}

export const openSeenTasks = (sql: Sql, versions: Versions) =>
  openLookUp<SeenTask>(sql, versions, {
    joins: sql`join tasks t on t.id = q.id`,
    projectId: sql`t.project_id`,
    columns: shownEventId(sql, 'task', 't'),
    // Without `renaming`: a task shows no names.
    make: ({ renaming: _, ...seen }, [eventId]) => ({ ...seen, eventId: eventId! }),
  })

export function getTask(services: Services, seeTask: LookUp<SeenTask>): Query {
  const { database, moments, serve } = services
  const findTask = openFindTask(database.reads)
  return {
    about: 'Its subtasks and comments are lists of their own.',
    input: Input(asOfTask()),
    errors: [withoutAsOf(), ...moments.errors, notFound('Task')],
    view: taskView,
    async read(reading) {
      const { request, caller, params, query } = reading
      if (query.asOf !== undefined || query.projectId !== undefined) return showThen(services, reading)
      const { id = '' } = params
      const seen = await requireSeen(seeTask, caller, id, 'Task')
      const build = async () => {
        const task = await findTask(caller, id)
        if (!task) throw notFound('Task')
        return { etag: etagOf(task), body: JSON.stringify(taskView.of(task)), link: null }
      }
      return serve(request, id, etagOf(seen), build, seen.version)
    },
  }
}

/** Reads tasks, many in one query, which checks again that their callers may see them: a task may just have moved. */
function openFindTask(sql: Sql) {
  const find = batched({ keys: 500, slots: 2 }, async (pairs: Pair[]) => {
    const rows = await sql<(TaskRow & { n: number })[]>`
      select q.n::int4 as n, ${shownColumns(sql, 'task', 't')} from ${pairsOf(sql, pairs)} join tasks t on t.id = q.id
      cross join lateral ${visibleProject(sql, sql`t.project_id`, sql`q.user_id`)} p`
    return byOrdinal(pairs.length, rows)
  })
  return async (caller: Caller, id: string) => {
    const task = await find({ userId: caller.userId, id })
    return task && isWithinToken(caller, task.projectId) ? task : undefined
  }
}
