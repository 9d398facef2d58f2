import type { Static } from '@sinclair/typebox'
import type { Query } from '../../src/commands/query.ts'
import { requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import { nextLink, writeCursor } from '../../src/reads/pages.ts'
import { etagAt } from '../../src/reads/versions.ts'
import { notFound } from '../../src/responses/errors.ts'
import { type CachedBody, pathAndQuery, respondWithBody } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { maxHits } from './documents.ts'
import { readHits, type SizedRequest, sizesOf } from './hits.ts'
import { searchIndexOf, withIndexed } from './indexed.ts'
import type { Scope } from './live-rows.ts'
import { cursorOf, readSearchRequest } from './parameters.ts'
import { hitView, SearchParameters } from './schema.ts'
import { costOf, visibleProjectIds } from './scope.ts'
import { searchTextErrors } from './text/query.ts'

const about = `Returns tasks, comments and projects of all projects of the caller, or of one project. A task matches by its title and description, a comment by its text, a project by its name and description. Accents and case do not matter. The hits are the newest ${maxHits} matches: first titles with all words, then titles with some of the words, then comments, then descriptions; each newest first. If nothing matches, the response contains similar titles with \`fuzzy: true\`.`

export function search(services: Services): Query {
  const { database, findRole, charge } = services
  const index = searchIndexOf(services)
  const respond = openRespond(services)
  return {
    about,
    operation: { id: 'search', tag: 'Search' },
    input: SearchParameters,
    view: hitView,
    isList: true,
    isSearch: true,
    errors: [...searchTextErrors(), notFound('Project')],
    async read({ request, caller, query }) {
      const wanted = readSearchRequest(query as Static<typeof SearchParameters>)
      const { projectId } = wanted
      const project = projectId === undefined ? undefined : await requireVisible(findRole, caller, projectId)
      const projectIds = project ? [project.projectId] : await visibleProjectIds(database.reads, caller)
      const scope = { userId: caller.userId, projectIds }
      return charge(caller, costOf(projectIds), async () => {
        // A response for one project may be in the cache, and then needs no sizes.
        const sizes = project ? undefined : sizesOf(database.searches, projectIds, wanted.query)
        const [{ indexed }, known] = await Promise.all([index.bringUpToDate(projectIds), sizes])
        // While documents are missing, the response changes without a new version.
        const current = indexed === 'all' ? project : undefined
        return withIndexed(await respond(request, scope, { ...wanted, sizes: known }, current), indexed)
      })
    },
  }
}

/** Returns a function that responds with a page of hits. Only the hits of one project have an ETag. */
const openRespond =
  ({ database, serve }: Services) =>
  async (request: Request, scope: Scope, wanted: SizedRequest, project: VisibleProject | undefined) => {
    const build = async (etag = ''): Promise<CachedBody> => {
      const { hits, next } = await readHits(database.searches, scope, wanted)
      const link = next && nextLink(request.url, 'cursor', writeCursor(cursorOf(next.newest, next.last)))
      return { etag, body: JSON.stringify(hits), link: link ?? null }
    }
    if (!project) return respondWithBody(request, await build())
    const etag = etagAt(project)
    return serve(request, pathAndQuery(request), etag, () => build(etag), project.version)
  }
