import { type Family, gauge } from '../metrics/family.ts'
import type { Sql } from '../postgres/database.ts'
import { importJobNames } from './queue.ts'

const maxCounted = 10_000

export async function jobFamilies(sql: Sql): Promise<Family[]> {
  const [row] = await sql<{ age: number; count: number; parked: number }[]>`
    select coalesce((select extract(epoch from now() - created_at)::float8 from outbox
        where parked_at is null and name <> all(${importJobNames}::text[]) order by created_at, id limit 1), 0) as age,
      (select count(*)::int4 from (select from outbox where parked_at is null limit ${maxCounted}) o) as count,
      (select count(*)::int4 from (select from outbox where parked_at is not null limit ${maxCounted}) o) as parked`
  const { age, count, parked } = row!
  return [
    gauge(
      'outbox_age_seconds',
      'Age of the oldest job in the outbox, without imports and dead letters.',
      age,
    ),
    gauge('outbox_jobs', `Jobs that wait or run, counted up to ${maxCounted}.`, count),
    gauge('parked_jobs', `Dead letters: jobs that failed too often, counted up to ${maxCounted}.`, parked),
  ]
}
