import type { TaskRow } from '../../drizzle/rows.ts'
import { notFound } from '../../src/wire/refusals.ts'
import { isId } from '../../src/ids.ts'
import { pageOf } from '../../src/reads/pages.ts'
import { etagAt } from '../../src/reads/versions.ts'
import { etagOf, page, pathOf } from '../../src/wire/answers.ts'
import type { Query } from '../../src/commands/query.ts'
import type { Services } from '../../src/services.ts'
import { listTasks, lookedAt } from './list.ts'
import { badAssignee, ListTasksQuery, readTaskFilter } from './list-query.ts'
import { openTasks, type SeeTask } from './queries.ts'
import { taskView } from './schema.ts'

/** What may be asked of tasks. */
export const taskReads = (services: Services, seeTask: SeeTask) => ({
  list: openList(services),
  get: openGet(services, seeTask),
})

function openList({ database, findRole, serve }: Services): Query {
  return {
    about: `Of one project, or across the caller's. Without a due date: last by dueDate, first by -dueDate. Sorted by creation and filtered by due date, a page looks at ${lookedAt} tasks of a project at most: it may show fewer than \`limit\`, and the Link header leads on.`,
    input: ListTasksQuery,
    shows: taskView,
    isList: true,
    refuses: [badAssignee(), notFound('Project')],
    async read({ request, caller: { userId }, query }) {
      const filter = readTaskFilter(query, userId)
      const { projectId } = filter
      const named = projectId !== undefined
      const seen = named && isId(projectId) ? await findRole({ userId, projectId }) : undefined
      if (named && !seen) throw notFound('Project')
      const byDue = filter.sort.endsWith('dueDate')
      const key = (row: TaskRow) => (byDue ? [row.dueDate, row.id] : [row.id])
      const build = async (etag = '') => {
        const found = await listTasks(database.reads, filter)
        if (!found) throw notFound('Project')
        return pageOf(request, found, taskView.of, key, etag)
      }
      if (!seen) return page(request, await build())
      // `me` is somebody else for each caller.
      const whose = query.assigneeId === 'me' ? `.${userId}` : ''
      const etag = etagAt(seen, whose)
      return serve(request, pathOf(request) + whose, etag, () => build(etag), seen.version)
    },
  }
}

function openGet({ database, serve }: Services, seeTask: SeeTask): Query {
  const findTask = openTasks(database.reads)
  return {
    about: 'Its subtasks and comments are lists of their own.',
    refuses: [notFound('Task')],
    shows: taskView,
    async read({ request, caller: { userId }, params: { id = '' } }) {
      const seen = isId(id) && (await seeTask({ userId, taskId: id }))
      if (!seen) throw notFound('Task')
      const build = async () => {
        const task = await findTask({ userId, taskId: id })
        if (!task) throw notFound('Task')
        return { etag: etagOf(task), body: JSON.stringify(taskView.of(task)), link: null }
      }
      return serve(request, id, etagOf(seen), build, seen.version)
    },
  }
}
