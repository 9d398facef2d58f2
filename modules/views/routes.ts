import type { ViewRow } from '../../drizzle/rows.ts'
import type { Query } from '../../src/commands/query.ts'
import type { Module } from '../../src/module.ts'
import { openLookUp, requireVisible } from '../../src/reads/lookups.ts'
import { Cursor, Limit } from '../../src/reads/pages.ts'
import { notFound } from '../../src/responses/errors.ts'
import { Input } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { childList } from '../children/list.ts'
import { unknownFieldParameter } from '../task-lists/custom-fields.ts'
import type { SeenProject } from '../task-lists/find-tasks.ts'
import { openReadTasks } from '../task-lists/reads.ts'
import { taskView } from '../tasks/schema.ts'
import { taskListView } from './entity.ts'
import { createView, deleteView, updateView } from './writes.ts'

export const views = {
  entity: taskListView,
  writes: [
    ['post', '/projects/:id/views', createView, 'Create a view'],
    ['patch', '/views/:id', updateView, 'Change a view'],
    ['delete', '/views/:id', deleteView, 'Delete a view'],
  ],
  reads: (services) => [
    [
      '/projects/:id/views',
      childList(services, taskListView, services.findRole),
      'List the views of a project',
    ],
    ['/views/:id/tasks', viewTasks(services), 'List the tasks of a view'],
  ],
} satisfies Module

interface SeenView extends SeenProject {
  query: ViewRow['query']
}

/** The maximum number of views in memory. A view has at most 4,000 characters, so these are at most about 40 MB. */
const cachedViews = 5_000

/** One query reads the view and the version of its project, so a later change of the view changes the ETag too. */
const openSeenViews = ({ database: { reads: sql }, versions }: Services) =>
  openLookUp<SeenView>(sql, versions, {
    joins: sql`join task_views w on w.id = q.id`,
    projectId: sql`w.project_id`,
    columns: sql`translate(encode(convert_to(w.query::text, 'UTF8'), 'base64'), E'\\n', '')`,
    make(seen, [text = '']) {
      const query = JSON.parse(Buffer.from(text, 'base64').toString()) as SeenView['query']
      return { ...(seen as SeenProject), query }
    },
    max: cachedViews,
  })

function viewTasks(services: Services): Query {
  const seeView = openSeenViews(services)
  const readTasks = openReadTasks(services)
  return {
    about:
      'Returns the tasks that the query of the view selects now, in its order: without `sort`, oldest first, or earliest due date first with a filter by due date. `limit` replaces the limit of the view. If a field of the query was deleted, the request gets 400.',
    operation: { id: 'listViewTasks', tag: 'Views' },
    input: Input({ limit: Limit(50, 200), cursor: Cursor() }),
    view: taskView,
    isList: true,
    errors: [unknownFieldParameter('field.size'), notFound('View')],
    async read({ request, caller, params, query: page }) {
      const seen = await requireVisible(seeView, caller, params.id, 'View')
      return readTasks(
        { request, caller, query: { ...seen.query, ...page, projectId: seen.projectId } },
        seen,
      )
    },
  }
}
