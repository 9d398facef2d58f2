import type { Query, ReadRequest } from '../../src/commands/query.ts'
import { eventsExpired, requireRetained } from '../../src/reads/retention.ts'
import { nextLink, jsonTexts } from '../../src/reads/pages.ts'
import { requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import { etagAt } from '../../src/reads/versions.ts'
import type { Services } from '../../src/services.ts'
import { type CachedBody, pathAndQuery, versionHeader } from '../../src/responses/reply.ts'
import { notFound } from '../../src/responses/errors.ts'
import { acceptsStream } from '../../src/responses/server-sent-events.ts'
import { eventExamples } from './catalogue.ts'
import { openEventStream } from './event-stream.ts'
import { openFeedLongPoll } from './long-poll.ts'
import { scanCost, readEventPage } from './pages.ts'
import { aheadOfProject, type FeedQuery, EventsQuery, lastEventId, parameterErrors } from './parameters.ts'
import { lastEventIdHeader, readEventsRequest } from './parameters.ts'
import { eventView, streamedEvents } from './schema.ts'
import { openStreamResponse } from './stream.ts'

const about = `In order, without gaps. Begin with \`after=0\`, or with the Docket-Version of a list's first page. Continue with the last \`seq\`; the Link header does so while there are more events. With \`types\` a page may show fewer than \`limit\` while the Link header leads to the next page. People have their current names. With \`wait\` the request waits until there are events or the time is over; with \`types\` continue after the Docket-Version of an empty answer. A caller who loses access while waiting gets 404 or 401. The service may delete events after some days: then 410 names the oldest seq that is left.`

const streamed =
  ' With `Accept: text/event-stream` the answer is a stream of server-sent events: `id` is the seq, `event` the type, `data` the event. It begins after `Last-Event-ID`, else after `after`, else with the next event. An event of type `end` says why the stream ends.'

export function listEvents(services: Services): Query {
  const { config, findRole, oldestSeq, serve } = services
  const longPoll = openFeedLongPoll(services)
  const stream = openStreamResponse(services)
  const streamEvents = openEventStream(services)
  const pageOf = openPageOf(services)
  return {
    about: about + streamed,
    input: EventsQuery,
    view: eventView,
    isList: true,
    ...{ eventStream: streamedEvents, examples: eventExamples() },
    errors: [...parameterErrors(), notFound('Project'), eventsExpired(17)],
    async read(reading) {
      const { request, caller, query } = reading
      const { id = '' } = reading.params
      const wanted = readEventsRequest(query)
      const isStream = acceptsStream(request)
      const lastId = isStream ? lastEventId(request) : null
      const first = await requireVisible(findRole, caller, id)
      const after = lastId ?? (isStream && query.after === undefined ? first.version : wanted.after)
      if (after > first.version) throw aheadOfProject(lastId === null ? 'after' : lastEventIdHeader)
      // A cached page may contain expired events. A stream must be rejected before it begins.
      const mayBeExpired = after < first.version && (isStream || config.historyDays > 0)
      if (mayBeExpired) await requireRetained(oldestSeq, id, after)
      if (isStream) {
        const more = { [versionHeader]: String(first.version) }
        return stream(reading, (signal) => streamEvents(reading, first, { ...wanted, after }, signal), more)
      }
      const project = wanted.waitMs > 0 ? await longPoll(reading, first, wanted) : first
      const etag = etagAt(project, `.${project.renaming}`)
      const build = () => pageOf(reading, project, wanted, etag)
      const answer = await serve(request, pathAndQuery(request), etag, build, project.version)
      answer.headers.append('vary', 'Accept') // a stream is another representation
      return answer
    },
  }
}

const openPageOf =
  ({ oldestSeq, spend }: Services) =>
  async (
    { request, caller }: ReadRequest,
    project: VisibleProject,
    wanted: FeedQuery,
    etag: string,
  ): Promise<CachedBody> => {
    const { projectId, version } = project
    const { after, limit, types } = wanted
    const slice = { projectId, version, after, limit, types }
    const cost = types ? scanCost(version - after) : 1
    const { events, upTo } = await spend(caller, cost, (sql) => readEventPage(sql, oldestSeq, slice))
    const texts = jsonTexts(events, eventView.of)
    const end = texts.length < events.length ? events[texts.length - 1]!.seq : upTo
    return {
      etag,
      body: `[${texts.join()}]`,
      link: end < version ? nextLink(request.url, 'after', String(end)) : null,
    }
  }
