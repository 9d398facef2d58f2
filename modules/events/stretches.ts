import { batched } from '../../src/postgres/batch.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Services } from '../../src/services.ts'
import { eventColumns, fitting, lastLookedAt, reached, read, withPeople } from './queries.ts'
import type { EventRow, RowTexts, Stretch } from './queries.ts'

/** What is asked of a project's events after a seq: those of some types, or all, up to a version. */
export interface Place {
  projectId: string
  after: number
  version: number
  limit: number
  types: string[] | null
}

type Numbered<R> = R & { n: number }

/** Places asked for in one query, at most, and the events looked at there. */
const together = { keys: 50, slots: 2, weigh: { limit: 2_000, of: looksAt } }

/** @throws Refusal 410 when some events after `after` are no longer kept */
export type StretchAt = (place: Place) => Promise<Stretch>

/** As eventsAt, for many who ask at once in one query: who else asks changes nothing of what one gets. */
export function openStretches(means: Pick<Services, 'database' | 'oldestKept'>): StretchAt {
  const sql = means.database.reads
  const rowsOf = batched(together, async (places: Place[]) => {
    const byPlace = Map.groupBy(await withPeople(sql, await rowsAt(sql, places)), ({ n }) => n - 1)
    return places.map((_, n) => byPlace.get(n) ?? [])
  })
  return async (place) => {
    const { after, version } = place
    if (after >= version) return { events: [], upTo: version }
    const events = await rowsOf(place)
    return { events, upTo: await reached(means, events, { ...place, end: lastLookedAt(version, after) }) }
  }
}

function looksAt({ after, version, limit, types }: Place): number {
  const length = lastLookedAt(version, after) - after
  return types ? length : Math.min(length, limit)
}

/** In order, each with the number of its place, from 1. */
async function rowsAt(sql: Sql, places: Place[]): Promise<Numbered<EventRow>[]> {
  const asked = places.map(({ projectId, after, version, limit, types }) => ({
    ...{ project_id: projectId, after, up_to: lastLookedAt(version, after), most: limit, types },
  }))
  const found = sql`select ${eventColumns(sql)} from events e
    where e.project_id = q.project_id and e.seq > q.after and e.seq <= q.up_to
      and (q.types is null or e.type = any(q.types))
    order by e.seq limit q.most`
  const rows = await sql<Numbered<RowTexts>[]>`
    select e.*, q.n::int4 as n
    from rows from (jsonb_to_recordset(${JSON.stringify(asked)}::text::jsonb)
      as (project_id uuid, after bigint, up_to bigint, most int4, types text[])) with ordinality
      as q(project_id, after, up_to, most, types, n)
    cross join lateral (${fitting(sql, found)}) e
    order by q.n, e.seq`
  return rows.map((row) => ({ ...read(row), n: row.n }))
}
