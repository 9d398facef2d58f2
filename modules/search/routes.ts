import type { Static } from '@sinclair/typebox'
import type { Query } from '../../src/commands/query.ts'
import type { Caller } from '../../src/identity/rights.ts'
import type { Module } from '../../src/module.ts'
import { requireVisible } from '../../src/reads/lookups.ts'
import { nextLink, writeCursor } from '../../src/reads/pages.ts'
import { etagAt } from '../../src/reads/versions.ts'
import { visibleProjectIds } from '../../src/reads/visible.ts'
import { notFound } from '../../src/responses/errors.ts'
import { pathAndQuery, respondWithBody } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { maxHits, readHits } from './find.ts'
import { cursorOf, hitView, readSearchRequest, SearchParameters } from './schema.ts'
import { searchTextErrors } from './text/query.ts'
import { bringUpToDate, type Scope } from './up-to-date.ts'

/** A search counts as one read, and one more for each 100 projects. */
const projectsPerRead = 100

/** Returns a function that runs a search in one project, or in all projects of the caller, when they are indexed. */
export const openScope =
  (services: Services) =>
  async (caller: Caller, projectId: string | undefined, respond: (scope: Scope) => Promise<Response>) => {
    const projectIds = projectId ? [projectId] : await visibleProjectIds(services.database.reads, caller)
    return services.charge(caller, 1 + projectIds.length / projectsPerRead, async () =>
      respond(await bringUpToDate(services, projectIds)),
    )
  }

/** A search of one project may use a standby with the same documents. */
export const poolFor = ({ database, place }: Services, { demand }: Scope) =>
  demand ? place(database.searches, demand) : database.searches

/** Sets the header that says how much of the documents is indexed. */
export function withIndexed(response: Response, indexed: string): Response {
  response.headers.set('docket-indexed', indexed)
  return response
}

const about = `Returns tasks, comments and projects of all projects of the caller, or of one project. A task matches by its title and description, a comment by its text, a project by its name and description. Accents and case do not matter. The hits are the newest ${maxHits} matches: first titles with all words, then titles with some of the words, then comments, then descriptions; each newest first. If nothing matches, the response contains similar titles with \`fuzzy: true\`.`

function search(services: Services): Query {
  const { findRole, serve } = services
  const inScope = openScope(services)
  return {
    about,
    operation: { id: 'search', tag: 'Search' },
    input: SearchParameters,
    view: hitView,
    isList: true,
    errors: [...searchTextErrors(), notFound('Project')],
    async read({ request, caller, query }) {
      const wanted = readSearchRequest(query as Static<typeof SearchParameters>)
      const { projectId } = wanted
      const project = projectId === undefined ? undefined : await requireVisible(findRole, caller, projectId)
      return inScope(caller, project?.projectId, async (scope) => {
        const build = async (etag = '') => {
          const { hits, next } = await readHits(poolFor(services, scope), caller.userId, scope, wanted)
          const link = next && nextLink(request.url, 'cursor', writeCursor(cursorOf(next)))
          return { etag, body: JSON.stringify(hits), link: link ?? null }
        }
        // While events are not indexed yet, the response can change without a new version of the project.
        if (!project || scope.indexed !== 'all')
          return withIndexed(await respondWithBody(request, await build()), scope.indexed)
        const etag = etagAt(project)
        const response = await serve(request, pathAndQuery(request), etag, () => build(etag), project.version)
        return withIndexed(response, scope.indexed)
      })
    },
  }
}

export const searches: Module = { reads: (services) => [['/search', search(services), 'Search']] }
