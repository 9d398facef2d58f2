import type { Sql } from '../../../src/postgres/database.ts'

const scope = 'imports'

/** The key under which the reply to a batch is stored. */
export const batchKey = (importId: string, part: string) => ({
  scope,
  key: `${importId} ${part}`,
  fingerprint: '',
})

/**
 * Records batches that an ended import has committed, but not recorded, because its worker was killed between the two.
 * The stored replies contain the numbers of the batches. A repeated batch with other operations has a second reply.
 */
export async function recordCommitted(sql: Sql, importId: string): Promise<void> {
  // The keys begin with the id and a space. A space sorts before letters in every collation.
  const afterKeys = `${importId}z`
  await sql`
    with ended as materialized (
      select id from imports where id = ${importId} and state in ('done', 'cancelled', 'failed') and not dry_run for update)
    insert into import_batches (import_id, seq)
    select ended.id, r.batch::bigint from ended
    cross join lateral (select substring(left(k.body, 40) from '^{"batch":([0-9]+)') as batch from idempotency_keys k
      where k.scope = ${scope} and k.key > ${importId} and k.key < ${afterKeys}) r
    where r.batch is not null
    on conflict do nothing`
}
