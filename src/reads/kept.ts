import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { readRows } from '../postgres/row-order.ts'
import { HttpError } from '../responses/errors.ts'

/** The seq of a project's oldest event. Old events expire without a gap, and the newest event never. */
export type OldestKept = (projectId: string) => Promise<number | undefined>

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
  new HttpError(410, `Events${whose && ` of ${whose}`} before ${oldest} are no longer kept`)

/**
 * Checks that all events after the seq `after` are kept. Call this after reading them: expired events never come back.
 * @throws HttpError 410
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
