import type { Kept } from '../../src/commit/idempotency.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { certainly } from '../../src/postgres/errors.ts'
import { note } from '../accounts/queries.ts'
import type { Webhook } from './queries.ts'

/** What became of a wish for a webhook: `taken` when somebody else has just got the place that was free. */
type Made = 'made' | 'full' | 'taken' | 'gone'

/** Stores a webhook and what is kept of its answer, at a place of its project that is free. */
export async function insertWebhook(
  sql: Sql,
  { id, projectId, url, types, maxEvents, secret, createdAt, disabledAt, cursor }: Webhook,
  most: number,
  kept?: Kept,
): Promise<Exclude<Made, 'taken'>> {
  const insert = async (): Promise<Made> => {
    const [row] = await sql<{ slot: number | null; isThere: boolean; id: string | null }[]>`
      with used as (select slot from webhooks where project_id = ${projectId}),
      free as (select min(n)::int4 as slot from generate_series(1, ${most}::int4) n where n not in (select slot from used)),
      place as (select id from projects where id = ${projectId} for key share),
      done as (insert into webhooks (id, project_id, slot, url, types, max_events, secret, created_at, disabled_at, cursor)
        select ${id}::uuid, place.id, free.slot, ${url}, ${types?.join(' ') ?? null}::text, ${maxEvents}::int4, ${secret},
          ${createdAt}::text::timestamptz, ${disabledAt}::text::timestamptz, ${cursor}::bigint
        from place, free where free.slot is not null
        on conflict (project_id, slot) do nothing returning id),
      noted as (${note(sql, kept)})
      select (select slot from free) as slot, exists (select from place) as is_there, (select id from done) as id`
    if (row!.id) return 'made'
    return !row!.isThere ? 'gone' : row!.slot === null ? 'full' : 'taken'
  }
  let made: Made = 'taken'
  const isMade = async () => (made = await insert()) === 'made'
  const stands = async () => (await sql`select from webhooks where id = ${id}`).length === 1
  while (made === 'taken') if (await certainly(isMade, stands)) return 'made'
  return made
}
