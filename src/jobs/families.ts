import { type Family, gauge } from '../metrics/family.ts'
import type { Sql } from '../postgres/database.ts'

/** So that no large table is read every few seconds. */
const mostCounted = 10_000

export async function jobFamilies(sql: Sql): Promise<Family[]> {
  const [owed] = await sql<{ age: number; count: number; parked: number }[]>`
    select coalesce((select extract(epoch from now() - created_at)::float8 from outbox
        where parked_at is null order by created_at, id limit 1), 0) as age,
      (select count(*)::int4 from (select from outbox where parked_at is null limit ${mostCounted}) o) as count,
      (select count(*)::int4 from (select from outbox where parked_at is not null limit ${mostCounted}) o) as parked`
  const { age, count, parked } = owed!
  return [
    gauge('outbox_age_seconds', 'Since when the oldest job is owed, but for parked ones.', age),
    gauge('outbox_jobs', `Jobs that wait or are under way, counted up to ${mostCounted}.`, count),
    gauge('parked_jobs', `Jobs that failed too often, counted up to ${mostCounted}.`, parked),
  ]
}
