import type { Caller } from '../../src/identity/rights.ts'
import type { Services } from '../../src/services.ts'
import { searchIndexOf, withIndexed } from './indexed.ts'
import { findMatchingTasks, type MatchingTasks } from './matching-tasks.ts'
import { costOf, visibleProjectIds } from './scope.ts'
import type { SearchQuery } from './text/query.ts'

type Respond = (found: MatchingTasks, isComplete: boolean) => Promise<Response>

/** Returns a function that finds the tasks of a list with `q`, in one project or in all projects of the caller. */
export function openTaskSearch(services: Services) {
  const { database, charge } = services
  const index = searchIndexOf(services)
  return async (caller: Caller, query: SearchQuery, projectId: string | undefined, respond: Respond) => {
    const projectIds = projectId ? [projectId] : await visibleProjectIds(database.reads, caller)
    return charge(caller, costOf(projectIds), async () => {
      const { indexed } = await index.bringUpToDate(projectIds)
      const found = await findMatchingTasks(database.searches, query, projectIds)
      return withIndexed(await respond(found, indexed === 'all'), indexed)
    })
  }
}
