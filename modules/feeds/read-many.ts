import type { Reading } from '../../src/commands/query.ts'
import type { Caller } from '../../src/identity/rights.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { isId } from '../../src/ids.ts'
import { firstOf, pageBytes } from '../../src/reads/pages.ts'
import type { Services } from '../../src/services.ts'
import { aheadIn, type AskedOfMany } from './positions.ts'
import { withPeople } from '../events/people.ts'
import { byRange, readRanges } from '../events/rows.ts'
import { requireKept } from '../../src/reads/kept.ts'
import { sharesOf } from './shares.ts'
import { type ReadEvent, shownEvent } from '../events/views.ts'

/** Projects that one seat of who waits is for, at most. */
const projectsPerSeat = 100

/** As many projects are read for the cost of a plain read. */
const projectsOfRead = 10

/** What there is of the projects asked for. */
interface Standing {
  /** Those that the caller may see. */
  places: { projectId: string; after: number; version: number }[]
  gone: string[]
}

type Means = Pick<Services, 'authenticate' | 'followers' | 'oldestKept' | 'findRole' | 'spend'>

/** Reads the feeds of many projects, each from a place of its own: in three statements, and two more after each wait. */
export function openReadMany(means: Means) {
  const { oldestKept, spend } = means
  const look = openLook(means)
  const hold = openHold(means, look)
  const show = async (sql: Sql, { places, gone }: Standing, limit: number): Promise<string> => {
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

  return async (reading: Reading, asked: AskedOfMany): Promise<string> => {
    const { caller } = reading
    const first = await spend(caller, 1 + asked.positions.length / projectsOfRead, async (sql) => {
      const standing = await look(caller, asked)
      return asked.waitMs > 0 && !hasNews(standing) ? standing : show(sql, standing, asked.limit)
    })
    if (typeof first === 'string') return first
    const standing = await hold(reading, asked, first)
    return spend(caller, 1, (sql) => show(sql, standing, asked.limit))
  }
}

type Look = ReturnType<typeof openLook>

const openLook =
  ({ findRole }: Means) =>
  /** @throws Refusal 400 */
  async (caller: Caller, { positions }: AskedOfMany): Promise<Standing> => {
    const asked = positions.map(({ projectId }) => projectId)
    const seen = await Promise.all(asked.filter(isId).map((id) => findRole(caller, id)))
    const versions = new Map(seen.flatMap((one) => (one ? [[one.projectId, one.version]] : [])))
    const places = positions.flatMap(({ projectId, after }) => {
      const version = versions.get(projectId)
      if (version !== undefined && after > version) throw aheadIn(projectId)
      return version === undefined ? [] : { projectId, after, version }
    })
    const gone = asked.filter((id) => versions.get(id) === undefined)
    return { places, gone }
  }

/** Holds who asks until there is something to tell them; what they may see is looked at whenever they are woken. */
const openHold =
  ({ authenticate, followers }: Means, look: Look) =>
  async ({ request, caller, turn }: Reading, asked: AskedOfMany, first: Standing): Promise<Standing> => {
    const until = performance.now() + asked.waitMs
    let standing = first
    const seats = Math.ceil(standing.places.length / projectsPerSeat)
    const leave = followers.acquire(caller.userId, Math.max(1, seats))
    turn.end()
    try {
      while (!hasNews(standing)) {
        const leftMs = until - performance.now()
        if (leftMs <= 0 || followers.hasEnded() || request.signal.aborted) break
        const following = followers.follow(standing.places, request.signal)
        await following.moved(following.beyond, leftMs)
        following.end()
        standing = await look(await authenticate.caller(request), asked)
      }
      return standing
    } finally {
      leave()
    }
  }

const hasNews = ({ places, gone }: Standing): boolean =>
  gone.length > 0 || places.some(({ after, version }) => version > after)

/** As many events as a page holds, by project in the order asked, and where to go on. */
function bodyOf(places: Standing['places'], events: ReadEvent[], gone: string[]): string {
  const texts = firstOf(events, (event) => ({ projectId: event.projectId, ...shownEvent(event) }))
  const byProject = Map.groupBy(texts.keys(), (n) => events[n]!.projectId)
  const shown = places.flatMap(({ projectId }) => byProject.get(projectId) ?? [])
  const lastOf = (projectId: string) => events[byProject.get(projectId)?.at(-1) ?? -1]?.seq
  const after = Object.fromEntries(places.map((one) => [one.projectId, lastOf(one.projectId) ?? one.after]))
  return `{"events":[${shown.map((n) => texts[n]).join()}],"after":${JSON.stringify(after)},"gone":${JSON.stringify(gone)}}`
}
