import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { readRows } from '../postgres/row-order.ts'
import { HttpError } from '../responses/errors.ts'

/** Returns the seq of a project's oldest event. Events expire in order, without a gap; the newest never expires. */
export type OldestSeq = (projectId: string) => Promise<number | undefined>

export const openOldestSeq = (sql: Sql): OldestSeq =>
  batched({ keys: 500, slots: 2 }, async (ids: string[]) => {
    const [row] = await sql<{ oldest: string | null }[]>`
      select string_agg(concat_ws(' ', q.n, e.seq), ',') as oldest
      from unnest(${ids}::uuid[]) with ordinality q(project_id, n)
      cross join lateral (
        select seq from events where project_id = q.project_id order by seq limit 1) e`
    return readRows(ids.length, row?.oldest ?? null, ([seq]) => Number(seq))
  })

export const eventsExpired = (oldest: number, label = '') =>
  new HttpError(410, `Events${label && ` of ${label}`} before ${oldest} are no longer kept`)

/** Call this after reading the events, not before. @throws HttpError 410 if an event after seq `after` has expired */
export async function requireRetained(
  oldestSeq: OldestSeq,
  projectId: string,
  after: number,
  label = '',
): Promise<void> {
  const oldest = await oldestSeq(projectId)
  if (oldest !== undefined && oldest > after + 1) throw eventsExpired(oldest, label)
}
