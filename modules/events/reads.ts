import type { Query, ReadRequest } from '../../src/commands/query.ts'
import { requireRetained } from '../../src/reads/retention.ts'
import { nextLink, jsonTexts, pageBytes } from '../../src/reads/pages.ts'
import { requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Services } from '../../src/services.ts'
import { respondByDigest, versionHeader, respondWithBody } from '../../src/responses/reply.ts'
import { aheadOfProject, eventsExpired, notFound } from '../../src/responses/errors.ts'
import { acceptsStream } from '../../src/responses/server-sent-events.ts'
import { openEventStream, openStreamResponse } from './event-stream.ts'
import { openHasMatches, openLongPoll } from './long-poll.ts'
import {
  hasFilter,
  scanCost,
  scanEnd,
  readEventPage,
  groupByRange,
  isFullPage,
  maxScannedEvents,
  readRanges,
  withPeople,
  type EventRange,
} from './rows.ts'
import {
  type FeedQuery,
  EventsQuery,
  lastEventId,
  parameterErrors,
  lastEventIdHeader,
  readEventsRequest,
  snapshotNeedsStream,
  eventView,
  streamedEvents,
  type ReadEvent,
  shownEvent,
  aheadIn,
  manyEventsView,
  ReadMany,
  readPositions,
} from './schema.ts'
import { openStreamedSnapshots, snapshotErrors } from './snapshot.ts'
import { responseExample } from '../../src/openapi/operation.ts'
import { claimSchema } from '../tasks/claim.ts'
import { model } from '../modules.ts'
import type { Static } from '@sinclair/typebox'
import type { Caller } from '../../src/identity/rights.ts'
import { accountIdOf, isId } from '../../src/id-format.ts'
import { sampleId } from '../../src/schema/response.ts'

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

const aboutMany =
  'Returns the events of many projects. This POST only reads, so it needs no Idempotency-Key. The response contains at most `limit` events and about 1 MiB. The events of each project are in order and without gaps. If there are too many events, each project gets a similar number. Send the returned `after` with the next request: it also passes events that `exceptActor` leaves out. With `wait`, the request waits until there are events.'

/** A waiting request for this many projects counts as one subscriber of the account. */
const projectsPerSlot = 100
/** Finding and reading this many projects is charged as one ordinary read each. */
const projectsPerRead = 20

interface FeedStates {
  feeds: { projectId: string; after: number; version: number }[]
  gone: string[]
}

interface Wanted {
  limit: number
  exceptActor: string | null
  waitMs: number
}

export function readManyEvents(services: Services): Query {
  const { charge } = services
  const longPoll = openLongPoll(services)
  const readEvents = openReadEvents(services)

  async function read(reading: ReadRequest, positions: Map<string, number>, wanted: Wanted) {
    const { exceptActor, waitMs } = wanted
    const { caller } = reading
    const cost = 1 + positions.size / projectsPerRead
    const reload = (caller: Caller) => readStates(services, caller, positions)
    const hasMatches = openHasMatches(services, caller, { exceptActor }, positions)
    const hasEvents = ({ feeds, gone }: FeedStates) => gone.length > 0 || hasMatches(feeds)
    const first = await charge(caller, cost, () => reload(caller))
    const slots = Math.max(1, Math.ceil(first.feeds.length / projectsPerSlot))
    const projectsOf = ({ feeds }: FeedStates) => feeds
    const poll = { waitMs, slots, projectsOf, hasEvents, reload }
    const states = waitMs > 0 ? await longPoll(reading, first, poll) : first
    const count = states.feeds.reduce((sum, { after, version }) => sum + version - after, 0)
    return charge(caller, Math.max(cost, exceptActor ? scanCost(count) : 1), (sql) =>
      readEvents(sql, states, wanted),
    )
  }

  return {
    about: aboutMany,
    operation: { id: 'readEvents', tag: 'Events' },
    body: ReadMany,
    view: manyEventsView,
    errors: [aheadIn(sampleId), eventsExpired(17, sampleId)],
    async read(reading) {
      const given = reading.body as Static<typeof ReadMany>
      const { limit = 100, wait = 0 } = given
      const actor = given.exceptActor
      const exceptActor = actor === undefined ? null : accountIdOf(actor, reading.caller.userId)
      const body = await read(reading, readPositions(given), { limit, exceptActor, waitMs: wait * 1_000 })
      return respondWithBody(reading.request, { etag: '', body, link: null })
    },
  }
}

const openReadEvents =
  ({ oldestSeq }: Services) =>
  async (sql: Sql, states: FeedStates, { limit, exceptActor }: Wanted): Promise<string> => {
    const { feeds } = states
    const behind = feeds.filter(({ after, version }) => version > after)
    const share = Math.ceil((exceptActor ? maxScannedEvents : limit) / behind.length)
    const ranges = behind.map(({ projectId, after, version }) => {
      return { projectId, after, upTo: Math.min(version, after + share), limit, exceptActor }
    })
    if (ranges.length === 0) return bodyOf(states, [])
    const rows = await readRanges(sql, ranges, { events: limit, bytes: pageBytes })
    const lists = groupByRange(ranges, rows)
    const others = ranges.filter(({ after }, n) => lists[n]![0]?.seq !== after + 1)
    await Promise.all(
      others.map(({ projectId, after }) => requireRetained(oldestSeq, projectId, after, projectId)),
    )
    const isComplete = exceptActor && !isFullPage(rows, limit)
    return bodyOf(states, await withPeople(sql, rows), isComplete ? ranges : [])
  }

async function readStates(
  { findRole }: Pick<Services, 'findRole'>,
  caller: Caller,
  positions: Map<string, number>,
): Promise<FeedStates> {
  const wanted = [...positions.keys()]
  const visible = await Promise.all(wanted.map((id) => (isId(id) ? findRole(caller, id) : undefined)))
  const feeds = visible.flatMap((one) => {
    if (!one) return []
    const { projectId, version } = one
    const after = positions.get(projectId)!
    if (after > version) throw aheadIn(projectId)
    return { projectId, after, version }
  })
  return { feeds, gone: wanted.filter((_, n) => !visible[n]) }
}

/** @param scanned the ranges that were scanned to their ends, if the page has all matches */
function bodyOf({ feeds, gone }: FeedStates, events: ReadEvent[], scanned: EventRange[] = []): string {
  const texts = jsonTexts(events, (event) => ({ projectId: event.projectId, ...shownEvent(event) }))
  const byProject = Map.groupBy(texts.keys(), (n) => events[n]!.projectId)
  const shown = feeds.flatMap(({ projectId }) => byProject.get(projectId) ?? [])
  const lastOf = (projectId: string) => events[byProject.get(projectId)?.at(-1) ?? -1]?.seq
  const after = new Map(feeds.map((one) => [one.projectId, lastOf(one.projectId) ?? one.after]))
  if (texts.length === events.length) for (const { projectId, upTo } of scanned) after.set(projectId, upTo)
  const next = JSON.stringify(Object.fromEntries(after))
  return `{"events":[${shown.map((n) => texts[n]).join()}],"after":${next},"gone":${JSON.stringify(gone)}}`
}
