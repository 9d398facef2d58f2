import type { Sql } from '../src/core/database.ts'
import { newId } from '../src/core/ids.ts'

const mostStreams = 1_000

/**
 * Recurring: asks again for the removal of projects that are gone while their stream still stands and no job for it
 * is owed. There are none as long as everything works; this is for what a restored backup brings back.
 */
export async function cleanup(sql: Sql): Promise<number> {
  const left = await sql<{ projectId: string }[]>`
    select s.project_id from streams s
    where not exists (select from projects p where p.id = s.project_id)
      and not exists (select from outbox o where o.project_id = s.project_id)
    limit ${mostStreams}`
  for (const { projectId } of left) {
    const data = JSON.stringify({ projectId })
    await sql`insert into outbox (id, project_id, name, data, created_at)
      values (${newId()}, ${projectId}, 'purge-project', ${data}::text::jsonb, now())`
  }
  return left.length
}

/** Recurring: removes the answers kept under Idempotency-Key once they are older than `hours`, in bounded batches. */
export async function expireKeys(sql: Sql, hours: number, batchRows: number): Promise<void> {
  for (;;) {
    const { count } = await sql`
      delete from idempotency_keys where (scope, key) in (
        select scope, key from idempotency_keys
        where created_at < now() - ${hours}::int4 * interval '1 hour' limit ${batchRows})`
    if (count < batchRows) return
  }
}

/** Recurring: forgets revoked tokens that have expired meanwhile, and are refused for that. */
export async function expireRevokedTokens(sql: Sql, batchRows: number): Promise<void> {
  for (;;) {
    const { count } = await sql`
      delete from revoked_tokens where jti in (
        select jti from revoked_tokens where expires_at < now() limit ${batchRows})`
    if (count < batchRows) return
  }
}
