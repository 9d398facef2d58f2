import { maxAheadMs, nowMs, setClock } from '../ids.ts'
import type { Log } from '../log.ts'
import { repeatedly } from '../repeatedly.ts'
import type { Sql } from './database.ts'

/** The database's time, which all processes share, in seconds since 1970. */
export async function clockOf(sql: Sql): Promise<number> {
  const [row] = await sql<{ now: number }[]>`select extract(epoch from now())::float8 as now`
  return row!.now
}

const askEveryMs = 5_000

/** From the first answer on, this process makes ids and times by the database's clock. */
export function openSharedClock(sql: Sql, log: Log) {
  let wasWrong = false
  const ask = async () => {
    const from = performance.now()
    setClock((await clockOf(sql)) * 1_000, from, performance.now())
    const aheadMs = Date.now() - nowMs()
    const isWrong = Math.abs(aheadMs) > maxAheadMs
    if (isWrong && !wasWrong)
      log.warn({ aheadMs }, "this machine's clock is not that of the database, which ids and times follow")
    wasWrong = isWrong
  }
  return { known: ask().catch(() => {}), close: repeatedly(ask, askEveryMs, log) }
}
