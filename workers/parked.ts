import type { OutboxRow } from '../drizzle/rows.ts'
import type { Sql } from '../src/postgres/database.ts'

const mostListed = 1_000

export type Parked = Pick<OutboxRow, 'id' | 'name' | 'projectId' | 'attempts' | 'error' | 'parkedAt'>

/** The jobs that failed too often, the oldest first, and how many jobs are owed beside them. */
export async function listParked(sql: Sql): Promise<{ parked: Parked[]; more: number; owed: number }> {
  const parked = await sql<Parked[]>`
    select id, name, project_id, attempts, error, parked_at from outbox
    where parked_at is not null order by parked_at, id limit ${mostListed}`
  const [count] = await sql<{ parked: number; owed: number }[]>`
    select count(parked_at)::int4 as parked, (count(*) - count(parked_at))::int4 as owed from outbox`
  return { parked, more: count!.parked - parked.length, owed: count!.owed }
}

/** Asks for parked jobs again: the sweep of any worker hands them over. Answers how many. */
export async function retryParked(sql: Sql, which: string): Promise<number> {
  const { count } = await sql`
    update outbox set attempts = 0, error = null, parked_at = null where ${isParked(sql, which)}`
  return count
}

/** Gives parked jobs up. Answers how many. */
export async function dropParked(sql: Sql, which: string): Promise<number> {
  const { count } = await sql`delete from outbox where ${isParked(sql, which)}`
  return count
}

const isParked = (sql: Sql, which: string) =>
  sql`parked_at is not null and (${which === 'all'} or id::text = ${which.toLowerCase()})`
