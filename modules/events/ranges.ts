import { batched } from '../../src/postgres/batch.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { gone, requireKept } from '../../src/reads/kept.ts'
import { pageBytes } from '../../src/reads/pages.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { taskOf } from '../../src/log/rows.ts'
import type { Services } from '../../src/services.ts'
import { eventColumns, type EventRow, eventRows, isCutAt, withPeople } from './queries.ts'
import { ahead, lastEventIdHeader } from './parameters.ts'
import { openPeople } from './people.ts'
import type { People, ReadEvent } from './views.ts'

/** Events of a project that follow one another: those after a seq up to another. */
export interface Range {
  projectId: string
  after: number
  /** The event that was there, where it is known: in another history, another one is. */
  afterId?: string | undefined
  upTo: number
}

/** An event with the number of its range, from 1; that which a range begins with tells the one before it, if that is kept. */
type FoundRow = EventRow & { n: number; previousId: string | null }

interface Found {
  /** In the order in which they had room: of each range without a gap. */
  rows: FoundRow[]
  /** Whether there was no room for more. */
  isCut: boolean
}

/**
 * Events of many ranges, as many as there is room for: first the next one of each, then the one after that, so that none
 * goes before the others; where not all have room chance decides, for it favours none.
 */
async function rowsIn(sql: Sql, ranges: Range[], limit: number, mostBytes?: number): Promise<Found> {
  const ids = ranges.map(({ projectId }) => projectId)
  const [afters, ends] = [ranges.map(({ after }) => after), ranges.map(({ upTo }) => upTo)]
  const rows = (await eventRows(
    sql,
    sql`select ${eventColumns(sql)}, e.n, case when e.seq = e.begin + 1 then
        (select p.id from events p where p.project_id = e.project_id and p.seq = e.begin) end as previous_id from (
      select e.*, q.n::int4 as n, q.after as begin from unnest(${ids}::uuid[], ${afters}::bigint[], ${ends}::bigint[])
        with ordinality q(project_id, after, up_to, n)
      cross join lateral (select * from events e where e.project_id = q.project_id
        and e.seq > q.after and e.seq <= q.up_to order by e.seq limit ${limit}) e
      order by e.seq - q.after, random() limit ${limit}) e`,
    mostBytes,
  )) as FoundRow[]
  return { rows, isCut: isCutAt(rows, limit, mostBytes) }
}

type Means = Pick<Services, 'database' | 'oldestKept'>

/** Events of many projects, in the order in which they have room on a page. @throws Refusal 410 */
export async function eventsOfMany(
  { sql, oldestKept }: Pick<Services, 'oldestKept'> & { sql: Sql },
  ranges: Range[],
  limit: number,
): Promise<ReadEvent[]> {
  const { rows, isCut } = await rowsIn(sql, ranges, limit)
  const firsts = new Map(rows.toReversed().map(({ n, seq }) => [n - 1, seq]))
  for (const [n, { projectId, after }] of ranges.entries()) {
    const first = firsts.get(n)
    if (first === undefined ? isCut : first === after + 1) continue
    const oldest = (await oldestKept(projectId)) ?? 0
    if (oldest > after + 1) throw gone(oldest, projectId)
  }
  return withPeople(sql, rows)
}

/** Ranges read in one query, at most, and their events and bytes: at least so many for one that is alone. */
const together = { keys: 100, slots: 2 }
const mostEvents = 1_000
const bytesOfOne = 262_144

const named = (event: StoredEvent, people: People) => ({ taskId: taskOf(event), ...event, people })

/**
 * What follows in a project: nothing, where there was no room for it beside others.
 * @throws Refusal 400 where another event came before it than was known, or 410
 */
export type Next = (range: Range) => Promise<ReadEvent[]>

/** The same for many who ask at once, in one query; what was committed here just now is not read back. */
export function openNext(means: Means & Pick<Services, 'authenticate' | 'recent'>): Next {
  const { authenticate, database, oldestKept, recent } = means
  const sql = database.reads
  const peopleOf = openPeople(sql, authenticate)
  const read = batched(together, async (ranges: Range[]) => {
    const known = ranges.map((range) => recent.after(range))
    const others = ranges.filter((_, n) => !known[n])
    const bytes = Math.min(pageBytes, bytesOfOne * others.length)
    const none = { rows: [], isCut: false }
    const { rows, isCut } = others.length > 0 ? await rowsIn(sql, others, mostEvents, bytes) : none
    const byRange = Map.groupBy(rows, ({ n }) => others[n - 1])
    const found = ranges.map((range, n) => known[n] ?? byRange.get(range) ?? [])
    const people = await peopleOf(found.flat())
    return found.map((events, n) => {
      const previousId = byRange.get(ranges[n]!)?.[0]?.previousId
      return { events: events.map((event) => named(event, people)), isCut, previousId }
    })
  })
  return async (range) => {
    const { events, isCut, previousId } = await read(range)
    if (range.afterId && previousId && previousId !== range.afterId) throw ahead(lastEventIdHeader)
    const first = events[0]?.seq
    const isWhole = first === undefined ? isCut : first === range.after + 1
    if (!isWhole) await requireKept(oldestKept, range.projectId, range.after)
    return events
  }
}
