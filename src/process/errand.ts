import type { Config } from '../config.ts'
import { openDatabase, type Sql } from '../postgres/database.ts'
import { explained } from './database.ts'

/** What to print, and the code to exit with. */
interface Said {
  code: number
  text: string
}

/** Prints what comes of it, and gives the code to exit with. */
export async function runOnDatabase(
  config: Config,
  work: (errand: { config: Config; sql: Sql }) => Promise<Said>,
): Promise<number> {
  const database = openDatabase(config)
  return work({ config, sql: database.chores })
    .then(print, (error) => Promise.reject(explained(error)))
    .finally(() => database.close())
}

export function print({ code, text }: Said): number {
  if (!text) return code
  if (code === 0) console.log(text)
  else console.error(text)
  return code
}
