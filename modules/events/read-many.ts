import type { Static } from '@sinclair/typebox'
import type { Query, ReadRequest } from '../../src/commands/query.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { isId } from '../../src/id-format.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { eventsExpired, requireRetained } from '../../src/reads/retention.ts'
import { pageBytes, jsonTexts } from '../../src/reads/pages.ts'
import { sampleId } from '../../src/schema/response.ts'
import type { Services } from '../../src/services.ts'
import { respondWithBody } from '../../src/responses/reply.ts'
import { openLongPoll } from './long-poll.ts'
import { groupByRange, readRanges, withPeople } from './rows.ts'
import { type ReadEvent, shownEvent } from './schema.ts'
import { aheadIn, manyEventsView, ReadMany, readPositions } from './feed-schema.ts'

const about =
  'Returns the events of many projects. This POST only reads, so it needs no Idempotency-Key. The response contains at most `limit` events and about 1 MiB. The events of each project are in order and without gaps. If there are too many events, each project gets a similar number. Send the returned `after` with the next request. With `wait`, the request waits until there are events.'

/** A waiting request for this many projects counts as one subscriber of the account. */
const projectsPerSlot = 100
/** A request for this many projects is charged as one ordinary read. */
const projectsPerRead = 10

interface FeedStates {
  feeds: { projectId: string; after: number; version: number }[]
  gone: string[]
}

export function readManyEvents(services: Services): Query {
  const { charge } = services
  const longPoll = openLongPoll(services)
  const readEvents = openReadEvents(services)

  async function read(reading: ReadRequest, positions: Map<string, number>, limit: number, waitMs: number) {
    const reload = (caller: Caller) => readStates(services, caller, positions)
    const first = await charge(reading.caller, 1 + positions.size / projectsPerRead, async (sql) => {
      const states = await reload(reading.caller)
      return waitMs > 0 && !hasEvents(states) ? states : readEvents(sql, states, limit)
    })
    if (typeof first === 'string') return first
    const slots = Math.max(1, Math.ceil(first.feeds.length / projectsPerSlot))
    const projectsOf = ({ feeds }: FeedStates) => feeds
    const states = await longPoll(reading, first, { waitMs, slots, projectsOf, hasEvents, reload })
    return charge(reading.caller, 1, (sql) => readEvents(sql, states, limit))
  }

  return {
    about,
    operation: { id: 'readEvents', tag: 'Events' },
    body: ReadMany,
    view: manyEventsView,
    errors: [aheadIn(sampleId), eventsExpired(17, sampleId)],
    async read(reading) {
      const wanted = reading.body as Static<typeof ReadMany>
      const { limit = 100, wait = 0 } = wanted
      const body = await read(reading, readPositions(wanted), limit, wait * 1_000)
      return respondWithBody(reading.request, { etag: '', body, link: null })
    },
  }
}

const openReadEvents =
  ({ oldestSeq }: Services) =>
  async (sql: Sql, { feeds, gone }: FeedStates, limit: number): Promise<string> => {
    const waiting = feeds.map(({ after, version }) => version - after)
    const shares = sharesOf(waiting, limit)
    const ranges = feeds.flatMap(({ projectId, after }, n) => {
      return shares[n]! > 0 ? { projectId, after, upTo: after + shares[n]!, limit } : []
    })
    if (ranges.length === 0) return bodyOf(feeds, [], gone)
    const rows = await readRanges(sql, ranges, { events: limit, bytes: pageBytes })
    const lists = groupByRange(ranges, rows)
    const others = ranges.filter(({ after }, n) => lists[n]![0]?.seq !== after + 1)
    await Promise.all(
      others.map(({ projectId, after }) => requireRetained(oldestSeq, projectId, after, projectId)),
    )
    return bodyOf(feeds, await withPeople(sql, rows), gone)
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

const hasEvents = ({ feeds, gone }: FeedStates): boolean =>
  gone.length > 0 || feeds.some(({ after, version }) => version > after)

/** Divides `limit` rows among projects with waiting rows. Each gets at least 1, so the sum may exceed `limit`. */
export function sharesOf(waiting: number[], limit: number): number[] {
  const shares = waiting.map(() => 0)
  const nonEmpty = [...waiting.keys()]
    .filter((n) => waiting[n]! > 0)
    .sort((a, b) => waiting[a]! - waiting[b]!)
  let left = limit
  nonEmpty.forEach((n, i) => {
    const share = Math.min(waiting[n]!, Math.max(1, Math.ceil(left / (nonEmpty.length - i))))
    shares[n] = share
    left -= share
  })
  return shares
}

function bodyOf(feeds: FeedStates['feeds'], events: ReadEvent[], gone: string[]): string {
  const texts = jsonTexts(events, (event) => ({ projectId: event.projectId, ...shownEvent(event) }))
  const byProject = Map.groupBy(texts.keys(), (n) => events[n]!.projectId)
  const shown = feeds.flatMap(({ projectId }) => byProject.get(projectId) ?? [])
  const lastOf = (projectId: string) => events[byProject.get(projectId)?.at(-1) ?? -1]?.seq
  const after = Object.fromEntries(feeds.map((one) => [one.projectId, lastOf(one.projectId) ?? one.after]))
  return `{"events":[${shown.map((n) => texts[n]).join()}],"after":${JSON.stringify(after)},"gone":${JSON.stringify(gone)}}`
}
