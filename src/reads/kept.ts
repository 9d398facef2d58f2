import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { readRows } from '../postgres/in-order.ts'
import { Refusal } from '../wire/refusals.ts'

/**
 * The seq of the oldest event that is kept of a project; undefined where none is. Old events go from a project's first
 * on, without a gap, and never its newest.
 */
export type OldestKept = (projectId: string) => Promise<number | undefined>

/** Of many projects in one query. */
export const openOldestKept = (sql: Sql): OldestKept =>
  batched({ keys: 500, slots: 2 }, async (ids: string[]) => {
    const [row] = await sql<{ oldest: string | null }[]>`
      select string_agg(concat_ws(' ', q.n, e.seq), ',') as oldest
      from unnest(${ids}::uuid[]) with ordinality q(project_id, n)
      cross join lateral (
        select seq from events where project_id = q.project_id order by seq limit 1) e`
    return readRows(ids.length, row?.oldest ?? null, ([seq]) => Number(seq))
  })

export const gone = (oldest: number, whose = '') =>
  new Refusal(410, `Events${whose && ` of ${whose}`} before ${oldest} are no longer kept`)

/**
 * Refuses who needs every event after the seq `after`, when some of them are gone. Asked after they were read it is the
 * truth of what was read: what is gone never comes back.
 * @throws Refusal 410
 */
export async function requireKept(
  oldestKept: OldestKept,
  projectId: string,
  after: number,
  whose = '',
): Promise<void> {
  const oldest = await oldestKept(projectId)
  if (oldest !== undefined && oldest > after + 1) throw gone(oldest, whose)
}
