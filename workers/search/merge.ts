import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql } from '../../src/postgres/database.ts'
import { withLimit } from '../../src/postgres/timeouts.ts'

/** Merging takes 58 µs a row in a list of 5,000 rows, 44 µs in one of 16,000. Each search reads the list: 7 ms for 16,000. */
const maxUnmerged = 16_000
/** A shorter list is merged after this time. */
const maxWaitMs = 10_000
const retryMs = 200
const mergeMemory = '64MB'
/** On a busy machine, 50,000 rows take longer than the time-out of the other background statements. */
const mergeTimeoutMs = 60_000
const mergeLimitMs = mergeTimeoutMs + 1_000
const lockKey = 0x73726368 // "srch"

export const countUnmerged = async (sql: Sql): Promise<number> => {
  const [row] = await sql<
    { rows: number }[]
  >`select coalesce(sum(rows), 0)::int4 as rows from search_unmerged`
  return row!.rows
}

/** Returns a function that merges the pending list when the list is long, when no rows are added, or after a while. */
export function openMerge(sql: Sql) {
  let [previous, mergedAt] = [0, performance.now()]
  return async (): Promise<void> => {
    const rows = await countUnmerged(sql)
    const isDue = rows >= maxUnmerged || rows === previous || performance.now() > mergedAt + maxWaitMs
    previous = rows
    if (rows === 0 || !isDue) return
    await merge(sql)
    mergedAt = performance.now()
  }
}

/** Waits until the list is short enough for more rows: Postgres itself would merge a much longer list in an insert. */
export async function awaitShortList(sql: Sql): Promise<void> {
  while ((await countUnmerged(sql)) > 2 * maxUnmerged) if (!(await merge(sql))) await sleep(retryMs)
}

/** Returns false if another process is merging. Searches and index steps continue meanwhile. */
export const merge = (sql: Sql): Promise<boolean> =>
  sql.begin(async (tx) => {
    const [row] = await tx<{ taken: boolean }[]>`select pg_try_advisory_xact_lock(${lockKey}) as taken`
    if (!row!.taken) return false
    await tx.unsafe(
      `set local maintenance_work_mem = '${mergeMemory}'; set local statement_timeout = ${mergeTimeoutMs}`,
    )
    const before = await tx<
      { slot: number; rows: number }[]
    >`select slot, rows from search_unmerged where rows > 0`
    await withLimit(tx`select gin_clean_pending_list('search_gin')`, mergeLimitMs)
    // Rows that were added meanwhile remain counted.
    for (const { slot, rows } of before)
      await tx`update search_unmerged set rows = rows - ${rows} where slot = ${slot}`
    return true
  })
