import type { Sql } from './database.ts'

/** The database's time, in seconds since 1970: of all clocks the one that every process shares. */
export async function clockOf(sql: Sql): Promise<number> {
  const [row] = await sql<{ now: number }[]>`select extract(epoch from now())::float8 as now`
  return row!.now
}
