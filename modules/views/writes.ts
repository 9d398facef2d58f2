import { inProject } from '../../src/commands/command.ts'
import { creation, deletion, update } from '../../src/commands/row-commands.ts'
import { taskListView } from './entity.ts'
import { CreateView, UpdateView, unstoredParameters, maxCharacters } from './schema.ts'
import type { ViewRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { badRequest, HttpError } from '../../src/responses/errors.ts'
import { fieldValue } from '../task-lists/custom-fields.ts'
import { readTaskFilter } from '../task-lists/list-query.ts'

type Query = ViewRow['query']

const notInViews = (name: string) => badRequest(`query.${name} is not allowed in a view`)
const queryTooLong = () =>
  badRequest(`query must have at most ${maxCharacters} characters in names and values`)

/** Returns the query if the list of tasks accepts it now. @throws HttpError 400 that names the parameter */
function checkedQuery(state: ProjectState, caller: Caller, given: object): Query {
  const query = given as Query
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

// The rules are pure, but call functions of the list of tasks, whose files also import the clock and random numbers. A
// file named commands.ts must not import these, so this file has another name.

const queryErrors = [notInViews('projectId'), queryTooLong()]

export const createView = creation(taskListView, {
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

export const updateView = update(taskListView, {
  about: 'Absent values do not change; a new query replaces the previous query.',
  input: UpdateView,
  role: 'EDITOR',
  fields: ({ name, query }, { caller }, _, state) => {
    return { name: name?.trim(), query: query && checkedQuery(state, caller, query) }
  },
  errors: queryErrors,
})

export const deleteView = deletion(taskListView, { role: 'EDITOR' })
