import type { Static } from '@sinclair/typebox'
import type { Query } from '../../src/commands/query.ts'
import type { Module } from '../../src/module.ts'
import { requireVisible } from '../../src/reads/lookups.ts'
import { nextLink, writeCursor } from '../../src/reads/pages.ts'
import { notFound } from '../../src/responses/errors.ts'
import { respondByDigest, respondWithBody } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { maxHits, readHits } from './find.ts'
import { cursorOf, hitView, readSearchRequest, SearchParameters } from './schema.ts'
import { searchTextErrors } from './text.ts'
import { openScope, poolFor, withIndexed } from './up-to-date.ts'

const about = `Returns tasks, comments and projects of all projects of the caller, or of one project. A task matches by its title and description, a comment by its text, a project by its name and description. Accents and case do not matter. The hits are the newest ${maxHits} matches: first titles with all words, then titles with some of the words, then comments, then descriptions; each newest first. If nothing matches, the response contains similar titles with \`fuzzy: true\`.`

function search(services: Services): Query {
  const { findRole } = services
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
        const { hits, next } = await readHits(poolFor(services, scope), caller.userId, scope, wanted)
        const link = next ? nextLink(request.url, 'cursor', writeCursor(cursorOf(next))) : null
        const page = { body: JSON.stringify(hits), link, etag: '' }
        const respond = project && scope.indexed === 'all' ? respondByDigest : respondWithBody
        return withIndexed(await respond(request, page, project?.version), scope.indexed)
      })
    },
  }
}

export const searches: Module = { reads: (services) => [['/search', search(services), 'Search']] }
