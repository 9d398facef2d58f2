import type { Query, ReadRequest } from '../../src/commands/query.ts'
import { gone, requireKept } from '../../src/reads/kept.ts'
import { nextLink, textsOf } from '../../src/reads/pages.ts'
import { requireSeen, type Seen } from '../../src/reads/lookups.ts'
import { etagAt } from '../../src/reads/versions.ts'
import type { Services } from '../../src/services.ts'
import { type CachedBody, pathAndQuery, versionHeader } from '../../src/responses/reply.ts'
import { notFound } from '../../src/responses/errors.ts'
import { acceptsStream } from '../../src/responses/server-sent-events.ts'
import { eventExamples } from './catalogue.ts'
import { openFollow } from './follow.ts'
import { openLongPoll } from './hold.ts'
import { costOfLooking, eventsAt } from './pages.ts'
import { ahead, type Asked, badLastEventId, EventsQuery, lastEventId } from './parameters.ts'
import { lastEventIdHeader, readAsked } from './parameters.ts'
import { eventView, streamedEvents } from './schema.ts'
import { openStream } from './stream.ts'

const about = `In order, each once. Begin after 0, or after the Docket-Version of a list's first page, and go on after the last \`seq\`, as the Link header does while there is more. Of some \`types\` a page may show fewer than \`limit\` and lead on. Names are those of now. With \`wait\`, an answer that would be \`[]\` is held until there is something, or the time is up; of some types go on after its Docket-Version then. Who may not read the project any more gets 404 or 401 meanwhile. Events may be kept for some days only: 410 when some after \`after\` are gone, and names the oldest that is there.`

const streamed =
  ' With `Accept: text/event-stream` the same comes as server-sent events, for as long as it is read: `id` is the seq, `event` the type, `data` the event. It begins after `Last-Event-ID`, else after `after`, else now; an event of type `end` says why a stream ends.'

export function listEvents(services: Services): Query {
  const { config, findRole, oldestKept, serve } = services
  const hold = openLongPoll(services)
  const stream = openStream(services)
  const follow = openFollow(services)
  const pageOf = openPageOf(services)
  return {
    about: about + streamed,
    input: EventsQuery,
    view: eventView,
    isList: true,
    ...{ eventStream: streamedEvents, examples: eventExamples() },
    errors: [ahead(), ahead(lastEventIdHeader), badLastEventId(), notFound('Project'), gone(17)],
    async read(reading) {
      const { request, caller, query } = reading
      const { id = '' } = reading.params
      const asked = readAsked(query)
      const isStream = acceptsStream(request)
      const known = isStream ? lastEventId(request) : null
      const first = await requireSeen(findRole, caller, id)
      // A stream begins after what its reader had last, else where it is told, else now.
      const after = known ?? (isStream && query.after === undefined ? first.version : asked.after)
      if (after > first.version) throw ahead(known === null ? 'after' : lastEventIdHeader)
      // Events on a cached page may have expired; a stream is rejected before it begins.
      const mayBeGone = after < first.version && (isStream || config.historyDays > 0)
      if (mayBeGone) await requireKept(oldestKept, id, after)
      if (isStream) {
        const more = { [versionHeader]: String(first.version) }
        return stream(reading, (signal) => follow(reading, first, { ...asked, after }, signal), more)
      }
      const seen = asked.waitMs > 0 ? await hold(reading, first, asked) : first
      const etag = etagAt(seen, `.${seen.renaming}`)
      const build = () => pageOf(reading, seen, asked, etag)
      const answer = await serve(request, pathAndQuery(request), etag, build, seen.version)
      answer.headers.append('vary', 'Accept') // a stream is another form
      return answer
    },
  }
}

const openPageOf =
  ({ oldestKept, spend }: Services) =>
  async ({ request, caller }: ReadRequest, seen: Seen, asked: Asked, etag: string): Promise<CachedBody> => {
    const { projectId, version } = seen
    const { after, limit, types } = asked
    const place = { projectId, version, after, limit, types }
    const cost = types ? costOfLooking(version - after) : 1
    const { events, upTo } = await spend(caller, cost, (sql) => eventsAt(sql, oldestKept, place))
    const texts = textsOf(events, eventView.of)
    const end = texts.length < events.length ? events[texts.length - 1]!.seq : upTo
    return {
      etag,
      body: `[${texts.join()}]`,
      link: end < version ? nextLink(request.url, 'after', String(end)) : null,
    }
  }
