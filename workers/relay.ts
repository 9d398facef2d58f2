import type { OutboxRow } from '../drizzle/schema.ts'
import type { Sql } from '../src/core/database.ts'
import { nilId } from '../src/core/ids.ts'
import type { Jobs } from '../src/core/jobs.ts'

const pageRows = 500

/** The web process hands jobs over itself; only what is older than this was left by a crash or by Redis. */
const leftAfterMs = 1_000

/**
 * Hands over every job that still stands in the outbox. One that is in the queue already is not added twice, for
 * the outbox id is the job's id. Answers how many it handed over.
 */
export async function sweep(sql: Sql, jobs: Jobs): Promise<number> {
  let swept = 0
  let last: Pick<OutboxRow, 'createdAt' | 'id'> = {
    createdAt: '-infinity',
    id: nilId,
  }
  for (;;) {
    const rows: OutboxRow[] = await sql<OutboxRow[]>`
      select * from outbox
      where (created_at, id) > (${last.createdAt}::text::timestamptz, ${last.id}::uuid)
        and created_at < now() - ${leftAfterMs}::int4 * interval '1 ms'
      order by created_at, id limit ${pageRows}`
    if (rows.length === 0 || !(await jobs.handOver(rows))) return swept
    swept += rows.length
    last = rows.at(-1)!
  }
}

/** The job is done: only now its row leaves the outbox. */
export async function settle(sql: Sql, outboxId: string): Promise<void> {
  await sql`delete from outbox where id = ${outboxId}`
}
