import type { Static } from '@sinclair/typebox'
import type { Query, ReadRequest } from '../../src/commands/query.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { accountIdOf, isId } from '../../src/id-format.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { requireRetained } from '../../src/reads/retention.ts'
import { eventsExpired } from '../../src/responses/errors.ts'
import { pageBytes, jsonTexts } from '../../src/reads/pages.ts'
import { sampleId } from '../../src/schema/response.ts'
import type { Services } from '../../src/services.ts'
import { respondWithBody } from '../../src/responses/reply.ts'
import { openHasMatches, openLongPoll } from './long-poll.ts'
import { groupByRange, isFullPage, maxScannedEvents, readRanges, scanCost, withPeople } from './rows.ts'
import type { EventRange } from './rows.ts'
import { type ReadEvent, shownEvent, aheadIn, manyEventsView, ReadMany, readPositions } from './schema.ts'

const about =
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
    about,
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
