import type { ViewRow } from '../../drizzle/rows.ts'
import type { Query } from '../../src/commands/query.ts'
import type { Module } from '../../src/module.ts'
import { openLookUp, requireVisible } from '../../src/reads/lookups.ts'
import { Cursor, Limit } from '../../src/reads/pages.ts'
import { notFound, badRequest, HttpError } from '../../src/responses/errors.ts'
import { Input } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { childList } from '../../src/routes/child-list.ts'
import { unknownFieldParameter, fieldValue } from '../task-lists/filters.ts'
import { type SeenProject, openReadTasks } from '../task-lists/reads.ts'
import { taskView } from '../tasks/schema.ts'
import { taskListView } from './entity.ts'
import { inProject } from '../../src/commands/command.ts'
import { creation, deletion, update } from '../../src/commands/row-commands.ts'
import { CreateView, UpdateView, unstoredParameters, maxCharacters } from './schema.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { readTaskFilter } from '../task-lists/list-query.ts'

type StoredQuery = ViewRow['query']

const notInViews = (name: string) => badRequest(`query.${name} is not allowed in a view`)
const queryTooLong = () =>
  badRequest(`query must have at most ${maxCharacters} characters in names and values`)

/** Returns the query if the list of tasks accepts it now. @throws HttpError 400 that names the parameter */
function checkedQuery(state: ProjectState, caller: Caller, given: object): StoredQuery {
  const query = given as StoredQuery
  const name = unstoredParameters.find((one) => one in query)
  if (name) throw notInViews(name)
  const length = Object.entries(query).reduce((sum, [key, value]) => sum + key.length + value.length, 0)
  if (length > maxCharacters) throw queryTooLong()
  try {
    const { fields = [] } = readTaskFilter({ ...query, projectId: state.projectId }, caller)
    const all = state.all('field')
    for (const one of fields)
      fieldValue(
        one,
        all.find(({ key }) => key === one.key),
      )
  } catch (error) {
    throw error instanceof HttpError ? badRequest(`query.${error.message}`) : error
  }
  return query
}

// These rules are pure, but call functions of the list of tasks, whose files import the clock. A file named commands.ts
// must not import the clock, so the rules are in this file.

const queryErrors = [notInViews('projectId'), queryTooLong()]

const createView = creation(taskListView, {
  about: 'The query is checked like a list of tasks. `me` stands for the caller who reads the tasks.',
  input: CreateView,
  target: inProject(),
  role: 'EDITOR',
  path: '/views',
  fields: ({ projectId, name, query }, { caller, now }, state) => {
    return { projectId, name: name.trim(), query: checkedQuery(state, caller, query), createdAt: now }
  },
  errors: queryErrors,
})

const updateView = update(taskListView, {
  about: 'Absent values do not change; a new query replaces the previous query.',
  input: UpdateView,
  role: 'EDITOR',
  fields: ({ name, query }, { caller }, _, state) => {
    return { name: name?.trim(), query: query && checkedQuery(state, caller, query) }
  },
  errors: queryErrors,
})

const deleteView = deletion(taskListView, { role: 'EDITOR' })

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
  query: StoredQuery
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
      const query = JSON.parse(Buffer.from(text, 'base64').toString()) as StoredQuery
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
