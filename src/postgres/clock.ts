import { setClock } from '../ids.ts'
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
  const read = async () => {
    const from = performance.now()
    setClock((await databaseTime(sql)) * 1_000, from, performance.now())
  }
  return { known: read().catch(() => {}), close: repeatedly(read, readEveryMs, log) }
}
