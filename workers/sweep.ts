import type { OutboxRow } from '../drizzle/rows.ts'
import type { Sql } from '../src/postgres/database.ts'
import { nilId } from '../src/id-format.ts'
import type { Jobs } from '../src/jobs/queue.ts'
import { outbox } from '../drizzle/schema/jobs.ts'
import { columnList } from '../src/postgres/columns.ts'

const bounds = { pageRows: 200, pages: 50 }

/** Reads the next pages of the outbox, queues the jobs that Redis has lost, and returns the number of these jobs. */
export function openSweep(sql: Sql, jobs: Jobs, { pageRows, pages } = bounds): () => Promise<number> {
  const start: Pick<OutboxRow, 'createdAt' | 'id'> = { createdAt: '-infinity', id: nilId }
  let last = start
  return async () => {
    let swept = 0
    for (let page = 0; page < pages; page++) {
      const rows = await sql<OutboxRow[]>`
        select ${columnList(sql, outbox, 'outbox')} from outbox
        where parked_at is null and (created_at, id) > (${last.createdAt}::text::timestamptz, ${last.id}::uuid)
        order by created_at, id limit ${pageRows}`
      const missing = await missingFromQueue(jobs, rows)
      if (!(await jobs.enqueue(missing))) break
      swept += missing.length
      last = rows.length === pageRows ? rows.at(-1)! : start
      if (last === start) break
    }
    return swept
  }
}

async function missingFromQueue(jobs: Jobs, rows: OutboxRow[]): Promise<OutboxRow[]> {
  const absent = await Promise.all(
    [...Map.groupBy(rows, jobs.queueOf)].map(([queue, queued]) =>
      jobs.findMissing(
        queue,
        queued.map(({ id }) => id),
      ),
    ),
  )
  return rows.filter(({ id }) => absent.some((ids) => ids.has(id)))
}
