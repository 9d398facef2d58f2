import type { TaskRow } from '../../drizzle/rows.ts'
import { notFound } from '../../src/wire/refusals.ts'
import { requireSeen } from '../../src/reads/lookups.ts'
import { pageOf } from '../../src/reads/pages.ts'
import { etagAt } from '../../src/reads/versions.ts'
import { digested, etagOf, page, pathOf } from '../../src/wire/answers.ts'
import { pinned } from '../../src/log/as-of.ts'
import { Input } from '../../src/schema/input.ts'
import type { Query } from '../../src/commands/query.ts'
import type { Services } from '../../src/services.ts'
import { listTasks, lookedAt } from './list.ts'
import { badAssignee, ListTasksQuery, ofOneProject, readTaskFilter } from './list-query.ts'
import { openTasks, type SeeTask } from './queries.ts'
import { asOfTask, isOfPast, showThen, withoutAsOf } from './past.ts'
import { taskView } from './schema.ts'

/** What may be asked of tasks. */
export const taskReads = (services: Services, seeTask: SeeTask) => ({
  list: openList(services),
  get: openGet(services, seeTask),
})

function openList({ database, findRole, moments, serve }: Services): Query {
  return {
    about: `Of one project, or across the caller's. Oldest first; filtered by due date in order of that, unless \`sort\` is given. Neither \`dueBefore\` nor \`dueAfter\` itself is inside. Without a due date: last by dueDate, first by -dueDate. Sorted by creation and filtered by due date, a page looks at ${lookedAt} tasks of a project at most: it may show fewer than \`limit\`, and the Link header leads on.`,
    input: ListTasksQuery,
    shows: taskView,
    isList: true,
    refuses: [badAssignee(), ofOneProject(), ...moments.refuses, notFound('Project')],
    async read({ request, caller, query }) {
      const filter = readTaskFilter(query, caller)
      const { projectId } = filter
      const seen = projectId === undefined ? undefined : await requireSeen(findRole, caller, projectId)
      const byDue = filter.sort.endsWith('dueDate')
      const key = (row: TaskRow) => (byDue ? [row.dueDate, row.id] : [row.id])
      if (query.asOf !== undefined) {
        if (!seen) throw ofOneProject()
        const moment = await moments.find(seen, query.asOf)
        const found = moment && (await moments.read(caller, moment, (sql) => listTasks(sql, filter, moment)))
        if (!found) throw notFound('Project')
        const { version } = moment
        return digested(request, pageOf(pinned(request, moment), found, taskView.of, key), version)
      }
      const build = async (etag = '') => {
        const found = await listTasks(database.reads, filter)
        if (!found) throw notFound('Project')
        return pageOf(request, found, taskView.of, key, etag)
      }
      if (!seen) return page(request, await build())
      // `me` is somebody else for each caller.
      const whose = query.assigneeId === 'me' ? `.${caller.userId}` : ''
      const etag = etagAt(seen, whose)
      return serve(request, pathOf(request) + whose, etag, () => build(etag), seen.version)
    },
  }
}

function openGet(services: Services, seeTask: SeeTask): Query {
  const { database, moments, serve } = services
  const findTask = openTasks(database.reads)
  return {
    about: 'Its subtasks and comments are lists of their own.',
    input: Input(asOfTask()),
    refuses: [withoutAsOf(), ...moments.refuses, notFound('Task')],
    shows: taskView,
    async read(reading) {
      const { request, caller, params, query } = reading
      if (isOfPast(query)) return showThen(services, reading)
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
