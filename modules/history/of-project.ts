import type { Sql } from '../../src/postgres/database.ts'
import type { OldestKept } from '../../src/reads/kept.ts'
import type { Cut } from '../../src/reads/pages.ts'
import { seqAt, seqBefore } from '../../src/reads/seq-at.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import { lookedAt } from '../events/pages.ts'
import { withPeople } from '../events/people.ts'
import { eventColumns, isCutAt, readEvents } from '../events/rows.ts'
import type { ReadEvent } from '../events/views.ts'
import type { Wanted } from './parameters.ts'

/** A page of a project's history. As seqs have no gaps, the number of events that are read through is known before. */
export async function eventsBack(
  { sql, oldestKept }: { sql: Sql; oldestKept: OldestKept },
  seen: Seen,
  wanted: Wanted,
): Promise<Cut<ReadEvent, { seq: number }>> {
  const { projectId, version } = seen
  const { entity, entityId, actorId, types, limit } = wanted
  const [upTo, after] = await Promise.all([
    wanted.to === null ? version : seqAt(sql, seen, wanted.to),
    wanted.from === null ? 0 : seqBefore(sql, seen, wanted.from),
  ])
  const last = Math.min(version, upTo, (wanted.before ?? Infinity) - 1)
  const lowest = Math.max(after + 1, last - lookedAt + 1)
  if (last < lowest) return { shown: [] }
  // One text for all that may be asked: each further one would be a plan more to keep.
  const rows = await readEvents(
    sql,
    sql`select ${eventColumns(sql)} from events e
    where e.project_id = ${projectId} and e.seq <= ${last}::bigint and e.seq >= ${lowest}::bigint
      and (${types}::text[] is null or e.type = any(${types}::text[]))
      and (${entity}::text is null or e.entity = ${entity}::text)
      and (${entityId}::uuid is null or e.entity_id = ${entityId}::uuid)
      and (${actorId}::uuid is null or e.actor_id = ${actorId}::uuid)
    order by e.seq desc limit ${limit}`,
  )
  const downTo = isCutAt(rows, limit) ? rows.at(-1)!.seq : lowest
  const isOldest = async () => downTo <= ((await oldestKept(projectId)) ?? 1)
  const [shown, isEnd] = await Promise.all([withPeople(sql, rows), downTo <= after + 1 || isOldest()])
  return isEnd ? { shown } : { shown, last: { seq: downTo } }
}
