import { labelledBy, type Family, gauge } from '../../src/metrics/family.ts'
import { lagFamilies } from '../../src/metrics/lag-families.ts'
import type { Sql } from '../../src/postgres/database.ts'

const maxCounted = 10_000
const help = `Webhooks by state, counted up to ${maxCounted}. A failing webhook is retried.`

type Row = Record<'enabled' | 'failing' | 'disabled' | 'events' | 'seconds', number>

export async function webhookFamilies(sql: Sql): Promise<Family[]> {
  const [row] = await sql<Row[]>`
    with counted as materialized (select project_id, cursor, failures, disabled_at from webhooks limit ${maxCounted}),
    behind as (select w.project_id, w.cursor, s.version - w.cursor as events from counted w
      join streams s on s.project_id = w.project_id
      where w.disabled_at is null and w.failures = 0 and s.version > w.cursor)
    select count(*) filter (where disabled_at is null and failures = 0)::int4 as enabled,
      count(*) filter (where disabled_at is null and failures > 0)::int4 as failing,
      count(disabled_at)::int4 as disabled,
      (select coalesce(max(events), 0)::float8 from behind) as events,
      (select coalesce(max(extract(epoch from now() - e.at)), 0)::float8 from behind b cross join lateral
        (select at from events where project_id = b.project_id and seq > b.cursor order by seq limit 1) e) as seconds
    from counted`
  const { events, seconds, ...states } = row!
  return [
    gauge('webhooks', help, labelledBy('state', states)),
    ...lagFamilies('webhook', events, Math.max(0, seconds)),
  ]
}
