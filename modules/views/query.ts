import type { ViewRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { badRequest, HttpError } from '../../src/responses/errors.ts'
import { fieldValue } from '../task-lists/custom-fields.ts'
import { readTaskFilter } from '../task-lists/list-query.ts'
import { fixed, maxCharacters } from './schema.ts'

type Query = ViewRow['query']

export const notInViews = (name: string) => badRequest(`query.${name} is not allowed in a view`)
export const queryTooLong = () =>
  badRequest(`query must have at most ${maxCharacters} characters in names and values`)

/** Returns the query if the list of tasks accepts it now. @throws HttpError 400 that names the parameter */
export function checkedQuery(state: ProjectState, caller: Caller, given: object): Query {
  const query = given as Query
  const name = fixed.find((one) => one in query)
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
