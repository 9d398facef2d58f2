import type { Query, ReadRequest } from '../../src/commands/query.ts'
import { requireRetained } from '../../src/reads/retention.ts'
import { nextLink, jsonTexts } from '../../src/reads/pages.ts'
import { requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Services } from '../../src/services.ts'
import { respondByDigest, versionHeader } from '../../src/responses/reply.ts'
import { aheadOfProject, eventsExpired, notFound } from '../../src/responses/errors.ts'
import { acceptsStream } from '../../src/responses/server-sent-events.ts'
import { openEventStream, openStreamResponse } from './event-stream.ts'
import { openHasMatches, openLongPoll } from './long-poll.ts'
import { hasFilter, scanCost, scanEnd, readEventPage } from './rows.ts'
import { type FeedQuery, EventsQuery, lastEventId, parameterErrors, lastEventIdHeader } from './schema.ts'
import { readEventsRequest, snapshotNeedsStream, eventView, streamedEvents } from './schema.ts'
import { openStreamedSnapshots, snapshotErrors } from './snapshot.ts'
import { responseExample } from '../../src/openapi/operation.ts'
import { claimSchema } from '../tasks/claim.ts'
import { model } from '../modules.ts'

const about = `Returns the events of a project in order, without gaps. Begin with \`after=0\`, or with the Docket-Version of a list's first page. Continue with the last \`seq\`; if there are more events, the Link header leads to the next page. With \`types\` or \`exceptActor\`, a page may show fewer events than \`limit\` although the Link header leads to another page. People have their current names. With \`wait\`, the request waits until there are events or the time is over; after an empty response to a request with \`types\` or \`exceptActor\`, continue with \`after\` set to its Docket-Version. A caller who loses access while waiting gets 404 or 401. If the service has deleted the next events, the request gets 410 with the oldest remaining seq.`

const streamed =
  ' With `Accept: text/event-stream`, the response is a stream of server-sent events: `id` is the seq, `event` is the type, and `data` is the event. The stream begins after the seq in `Last-Event-ID`; without that header, after the seq in `after`; without both, with the next new event. While a stream leaves out events, it sends their `id` without data at least every 100 events or 15 s. With `snapshot` and without `Last-Event-ID`, the stream begins with the rows of these kinds at one version, and continues with the next event: `after` has no effect. Before the service closes the stream, it sends an event of type `end` with the reason.'

export function listEvents(services: Services): Query {
  const { findRole, oldestSeq } = services
  const waitForEvents = openWaitForEvents(services)
  const stream = openStreamResponse(services)
  const streamEvents = openEventStream(services)
  const openSnapshot = openStreamedSnapshots(services)
  return {
    about: about + streamed,
    input: EventsQuery,
    view: eventView,
    isList: true,
    ...{ eventStream: streamedEvents, examples: eventExamples() },
    errors: [...parameterErrors(), ...snapshotErrors(), notFound('Project'), eventsExpired(17)],
    async read(reading) {
      const { request, caller, query } = reading
      const { id = '' } = reading.params
      const wanted = readEventsRequest(query, caller.userId)
      const isStream = acceptsStream(request)
      const lastId = isStream ? lastEventId(request) : null
      if (wanted.kinds && !isStream) throw snapshotNeedsStream()
      const hasSnapshot = wanted.kinds && lastId === null && request.method !== 'HEAD'
      const first = await requireVisible(findRole, caller, id)
      const isNew = isStream && (query.after === undefined || hasSnapshot)
      const after = lastId ?? (isNew ? first.version : wanted.after)
      if (after > first.version) throw aheadOfProject(lastId === null ? 'after' : lastEventIdHeader)
      if (isStream) {
        // A started stream cannot change its status.
        if (after < first.version) await requireRetained(oldestSeq, id, after)
        const headers = { [versionHeader]: String(first.version) }
        return stream(reading, (signal) => {
          const snapshot = hasSnapshot ? openSnapshot(reading, id, wanted.kinds!, signal) : undefined
          return { headers, chunks: streamEvents(reading, first, { ...wanted, after }, signal, snapshot) }
        })
      }
      const project = wanted.waitMs > 0 ? await waitForEvents(reading, first, wanted) : first
      const page = await readPage(services, reading, project, wanted)
      const answer = await respondByDigest(request, page, project.version)
      answer.headers.append('vary', 'Accept')
      return answer
    },
  }
}

function openWaitForEvents(services: Services) {
  const longPoll = openLongPoll(services)
  return (reading: ReadRequest, first: VisibleProject, wanted: FeedQuery) => {
    const { projectId } = first
    const { after, waitMs } = wanted
    const hasMatches = openHasMatches(services, reading.caller, wanted, new Map([[projectId, after]]))
    return longPoll(reading, first, {
      waitMs,
      projectsOf: (project) => [project],
      hasEvents: (project) => hasMatches([project]),
      async reload(caller) {
        const project = await requireVisible(services.findRole, caller, projectId)
        // After a failover that lost events, the version may be lower than `after`.
        if (after > project.version) throw aheadOfProject()
        return project
      },
    })
  }
}

async function readPage(
  { oldestSeq, charge, place }: Services,
  { request, caller }: ReadRequest,
  project: VisibleProject,
  wanted: FeedQuery,
) {
  const { projectId, version } = project
  const { after, limit } = wanted
  const isFiltered = hasFilter(wanted)
  const upTo = isFiltered ? scanEnd(after, version) : Math.min(version, after + limit)
  const range = { ...wanted, projectId, upTo }
  const read = (sql: Sql) => readEventPage(place(sql, { projects: [project], upTo }), oldestSeq, range)
  const page = await charge(caller, isFiltered ? scanCost(version - after) : 1, read)
  const texts = jsonTexts(page.events, eventView.of)
  const end = texts.length < page.events.length ? page.events[texts.length - 1]!.seq : page.upTo
  return {
    body: `[${texts.join()}]`,
    link: end < version ? nextLink(request.url, 'after', String(end)) : null,
  }
}

type Fields = Record<string, unknown>

const claim = responseExample(claimSchema)
const [held, ended] = [{ claim, attempts: 0 } as Fields, { claim: null, attempts: 1 } as Fields]

const changes: Record<string, [before: Fields, after: Fields]> = {
  'member.role_set': [{ role: 'VIEWER' }, { role: 'EDITOR' }],
  'task.claimed': [{ claim: null }, { claim }],
  'task.released': [held, ended],
  'task.claim_expired': [held, ended],
  'task.reminded': [{ remindAt: '2027-01-31T17:00:00.000Z' }, { remindAt: null }],
  'task.due': [{ updatedAt: '2027-01-15T09:30:00.000Z' }, { updatedAt: '2027-01-31T17:00:00.400Z' }],
  'task.ready': [{}, {}],
  'webhook.updated': [{ enabled: true }, { enabled: false, changed: ['enabled'] }],
}

const creationVerbs = ['created', 'invited', 'moved_in']
const deletionVerbs = ['deleted', 'removed', 'moved_out']

function eventExamples(): Record<string, { value: object[] }> {
  const { undoes: _, failed, reason, ...common } = responseExample(eventView.schema) as Fields
  return Object.fromEntries(
    model.all.flatMap(({ name, events, view }) => {
      const row = responseExample(view.schema) as Fields
      return Object.keys(events).map((verb) => {
        const type = `${name}.${verb}`
        const [before, after] = sidesOf(type, verb, row)
        const outcome = verb === 'released' && { failed, reason }
        return [type, { value: [{ ...common, ...outcome, type, entity: name, before, after }] }]
      })
    }),
  )
}

function sidesOf(type: string, verb: string, row: Fields): [Fields | null, Fields | null] {
  if (creationVerbs.includes(verb)) return [null, row]
  if (deletionVerbs.includes(verb)) return [row, null]
  if (verb === 'unassigned') return [{ assigneeId: row.assigneeId }, { assigneeId: null }]
  return changes[type] ?? anyChange(row)
}

function anyChange(row: Fields): [Fields, Fields] {
  const [field = '', value] =
    Object.entries(row).find(([, one]) => typeof one === 'string' && one !== row.id) ?? []
  return [{ [field]: `${String(value)} (old)` }, { [field]: value }]
}
