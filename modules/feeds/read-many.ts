import type { Static } from '@sinclair/typebox'
import type { Query, ReadRequest } from '../../src/commands/query.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { isId } from '../../src/ids.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { gone, requireKept } from '../../src/reads/kept.ts'
import { pageBytes, textsOf } from '../../src/reads/pages.ts'
import { sampleId } from '../../src/schema/response.ts'
import type { Services } from '../../src/services.ts'
import { respondWithBody } from '../../src/responses/reply.ts'
import { openHold } from '../events/hold.ts'
import { byRange, readRanges, withPeople } from '../events/rows.ts'
import { type ReadEvent, shownEvent } from '../events/views.ts'
import { aheadIn, manyEventsView, ReadMany, readPositions } from './schema.ts'

const about =
  'A read, although a POST: it takes no Idempotency-Key. Answers at most `limit` events, of each project in order and without a gap, and 1 MiB; none goes before the others for long. `after` says where to go on, and can be sent back as it is. `wait` holds the answer while there is nothing to tell.'

/** Projects for which a held request takes one seat, at most. */
const projectsPerSeat = 100
/** As many projects are read for the cost of a plain read. */
const projectsOfRead = 10

/** What there is of the projects asked for. */
interface Standing {
  /** Those that the caller may see. */
  places: { projectId: string; after: number; version: number }[]
  gone: string[]
}

/** Reads the feeds of many projects, each from a place of its own: in three statements, and two more after each wait. */
export function readManyEvents(services: Services): Query {
  const { spend } = services
  const hold = openHold(services)
  const show = openShow(services)

  async function read(reading: ReadRequest, positions: Map<string, number>, limit: number, waitMs: number) {
    const look = (caller: Caller) => standingOf(services, caller, positions)
    const first = await spend(reading.caller, 1 + positions.size / projectsOfRead, async (sql) => {
      const standing = await look(reading.caller)
      return waitMs > 0 && !hasNews(standing) ? standing : show(sql, standing, limit)
    })
    if (typeof first === 'string') return first
    const seats = Math.max(1, Math.ceil(first.places.length / projectsPerSeat))
    const projectsOf = ({ places }: Standing) => places
    const standing = await hold(reading, first, { waitMs, seats, projectsOf, hasNews, look })
    return spend(reading.caller, 1, (sql) => show(sql, standing, limit))
  }

  return {
    about,
    operation: { id: 'readEvents', tag: 'Events' },
    body: ReadMany,
    view: manyEventsView,
    errors: [aheadIn(sampleId), gone(17, sampleId)],
    async read(reading) {
      const asked = reading.body as Static<typeof ReadMany>
      const { limit = 100, wait = 0 } = asked
      const body = await read(reading, readPositions(asked), limit, wait * 1_000)
      return respondWithBody(reading.request, { etag: '', body, link: null })
    },
  }
}

/** @throws HttpError 410 */
const openShow =
  ({ oldestKept }: Services) =>
  async (sql: Sql, { places, gone }: Standing, limit: number): Promise<string> => {
    const waiting = places.map(({ after, version }) => version - after)
    const shares = sharesOf(waiting, limit)
    const ranges = places.flatMap(({ projectId, after }, n) => {
      return shares[n]! > 0 ? { projectId, after, upTo: after + shares[n]!, limit } : []
    })
    if (ranges.length === 0) return bodyOf(places, [], gone)
    const rows = await readRanges(sql, ranges, { events: limit, bytes: pageBytes })
    const lists = byRange(ranges, rows)
    const others = ranges.filter(({ after }, n) => lists[n]![0]?.seq !== after + 1)
    await Promise.all(
      others.map(({ projectId, after }) => requireKept(oldestKept, projectId, after, projectId)),
    )
    return bodyOf(places, await withPeople(sql, rows), gone)
  }

/** @throws HttpError 400 */
async function standingOf(
  { findRole }: Pick<Services, 'findRole'>,
  caller: Caller,
  positions: Map<string, number>,
): Promise<Standing> {
  const asked = [...positions.keys()]
  const seen = await Promise.all(asked.map((id) => (isId(id) ? findRole(caller, id) : undefined)))
  const places = seen.flatMap((one) => {
    if (!one) return []
    const { projectId, version } = one
    const after = positions.get(projectId)!
    if (after > version) throw aheadIn(projectId)
    return { projectId, after, version }
  })
  return { places, gone: asked.filter((_, n) => !seen[n]) }
}

const hasNews = ({ places, gone }: Standing): boolean =>
  gone.length > 0 || places.some(({ after, version }) => version > after)

/**
 * Divides `limit` rows among projects: each gets all it has, up to a most that is the same for all, and at least one where
 * it has any, so that together they may get more than `limit`.
 */
export function sharesOf(waiting: number[], limit: number): number[] {
  const shares = waiting.map(() => 0)
  const those = [...waiting.keys()].filter((n) => waiting[n]! > 0).sort((a, b) => waiting[a]! - waiting[b]!)
  let left = limit
  those.forEach((n, i) => {
    const share = Math.min(waiting[n]!, Math.max(1, Math.ceil(left / (those.length - i))))
    shares[n] = share
    left -= share
  })
  return shares
}

/** As many events as a page holds, by project in the order asked, and where to go on. */
function bodyOf(places: Standing['places'], events: ReadEvent[], gone: string[]): string {
  const texts = textsOf(events, (event) => ({ projectId: event.projectId, ...shownEvent(event) }))
  const byProject = Map.groupBy(texts.keys(), (n) => events[n]!.projectId)
  const shown = places.flatMap(({ projectId }) => byProject.get(projectId) ?? [])
  const lastOf = (projectId: string) => events[byProject.get(projectId)?.at(-1) ?? -1]?.seq
  const after = Object.fromEntries(places.map((one) => [one.projectId, lastOf(one.projectId) ?? one.after]))
  return `{"events":[${shown.map((n) => texts[n]).join()}],"after":${JSON.stringify(after)},"gone":${JSON.stringify(gone)}}`
}
