import type { webhooks } from '../../drizzle/schema/webhooks.ts'
import type { FactType } from '../../src/facts/facts.ts'
import type { Sql } from '../../src/postgres/database.ts'

type Stored = typeof webhooks.$inferSelect
/** A webhook as people see it, and the secrets that it signs with, sealed. */
export type Webhook = Omit<
  Stored,
  'types' | 'slot' | 'deliveryId' | 'head' | 'failingSince' | 'leaseBy' | 'leaseUntil'
> & {
  types: FactType[] | null
}

const columns = (sql: Sql) => sql`
  id, project_id, revision, url, types, max_events, secret, former_secret, former_until, created_at, disabled_at,
  disabled_reason, cursor::float8 as cursor, failures, next_at`

const read = ({ types, ...row }: Webhook & { types: unknown }): Webhook => ({ ...row, types: typesIn(types) })
/** As they are stored: with blanks between. */
export const typesIn = (types: unknown) =>
  typeof types === 'string' ? (types.split(' ') as FactType[]) : null

/** All webhooks of a project, the oldest first. There are never many. */
export async function webhooksOf(sql: Sql, projectId: string): Promise<Webhook[]> {
  const rows = await sql<Webhook[]>`
    select ${columns(sql)} from webhooks where project_id = ${projectId} order by slot`
  return rows.map(read).sort((a, b) => (a.id < b.id ? -1 : 1))
}

export async function webhookOf(sql: Sql, projectId: string, id: string): Promise<Webhook | undefined> {
  const rows = await sql<Webhook[]>`
    select ${columns(sql)} from webhooks where id = ${id} and project_id = ${projectId}`
  return rows.map(read)[0]
}
