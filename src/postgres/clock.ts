import { maxAheadMs, nowMs, setClock } from '../ids.ts'
import type { Log } from '../logger.ts'
import { repeatedly } from '../waits.ts'
import type { Sql } from './database.ts'

export async function databaseTime(sql: Sql): Promise<number> {
  const [row] = await sql<{ now: number }[]>`select extract(epoch from now())::float8 as now`
  return row!.now
}

const readEveryMs = 5_000

/** After the first reading, this process creates ids and times with the clock of the database. */
export function openDatabaseClock(sql: Sql, log: Log) {
  let wasWrong = false
  const read = async () => {
    const from = performance.now()
    setClock((await databaseTime(sql)) * 1_000, from, performance.now())
    const aheadMs = Date.now() - nowMs()
    const isWrong = Math.abs(aheadMs) > maxAheadMs
    if (isWrong && !wasWrong)
      log.warn(
        { aheadMs },
        "this machine's clock differs from the database's clock, which sets ids and times",
      )
    wasWrong = isWrong
  }
  return { known: read().catch(() => {}), close: repeatedly(read, readEveryMs, log) }
}
