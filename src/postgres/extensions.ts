import type { Log } from '../logger.ts'
import type { Sql } from './database.ts'

const uses: Record<string, string> = {
  btree_gin: 'searches are slower in a database with many projects',
  pg_trgm: 'searches without a hit suggest no similar titles',
}

/** Returns the extensions that the search uses and the database lacks. */
export async function missingExtensions(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`select extname as name from pg_extension`
  return Object.keys(uses).filter((name) => !rows.some((row) => row.name === name))
}

export function warnAboutExtensions(log: Log, missing: string[]): void {
  if (missing.length === 0) return
  const effects = missing.map((name) => `${uses[name]} (${name})`).join(', and ')
  log.warn(`the database lacks an extension: ${effects}`)
}
