import { isId } from '../../src/ids.ts'
import { nextLink, textOf } from '../../src/reads/pages.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import { etagAt } from '../../src/reads/versions.ts'
import { type CachedBody, pathOf } from '../../src/wire/answers.ts'
import { notFound } from '../../src/wire/refusals.ts'
import type { Query } from '../../src/commands/query.ts'
import type { Services } from '../../src/services.ts'
import { ahead, type Asked, EventsQuery, readAsked } from './parameters.ts'
import { eventsAt } from './queries.ts'
import { eventView } from './schema.ts'

const about = `In order, each once. Begin after 0, or after the Docket-Version of a list's first page, and go on after the last \`seq\`, as the Link header does while there is more. Of some \`types\` a page may show fewer than \`limit\` and lead on. Names are those of now.`

/** What may be asked of the history. */
export function eventReads({ database, findRole, serve }: Services) {
  async function pageOf(request: Request, seen: Seen, asked: Asked, etag: string): Promise<CachedBody> {
    const { events, upTo } = await eventsAt(database.reads, seen, asked)
    const { body, count } = textOf(events, eventView.of)
    const end = count < events.length ? events[count - 1]!.seq : upTo
    return { etag, body, link: end < seen.version ? nextLink(request.url, 'after', String(end)) : null }
  }

  const list: Query = {
    about,
    input: EventsQuery,
    shows: eventView,
    isList: true,
    refuses: [ahead(), notFound('Project')],
    async read({ request, caller: { userId }, query, params: { id = '' } }) {
      const asked = readAsked(query)
      const seen = isId(id) && (await findRole({ userId, projectId: id }))
      if (!seen) throw notFound('Project')
      if (asked.after > seen.version) throw ahead()
      const etag = etagAt(seen, `.${seen.renaming}`)
      return serve(request, pathOf(request), etag, () => pageOf(request, seen, asked, etag), seen.version)
    },
  }
  return { list }
}
