import type { Sql } from '../../src/postgres/database.ts'
import { type Throttle, forEachPage } from '../throttle.ts'
import { merge } from './merge.ts'

/** Longer than the time for which a process assumes that a word is in the table. */
const unusedHours = 1
const pageWords = 20
const wordsOfRun = 500

/**
 * Deletes the next words that no document has contained for an hour. Returns the last word, or undefined after the last
 * page. Each word has a query of its own: Postgres then plans common and rare words differently.
 */
export async function expireWords(sql: Sql, throttle: Throttle, after = ''): Promise<string | undefined> {
  const words = await sql<{ word: string }[]>`
    select word from search_words where word > ${after} order by word limit ${wordsOfRun}`
  // Each query reads all rows that are not merged: 7 ms for 16,000.
  await merge(sql)
  const unused: string[] = []
  await forEachPage({ ...throttle, isOver: undefined }, 0, async (from) => {
    const page = words.slice(from, from + pageWords)
    const areUsed = await Promise.all(page.map(({ word }) => isUsed(sql, word)))
    unused.push(...page.flatMap(({ word }, i) => (areUsed[i] ? [] : [word])))
    return from + pageWords < words.length ? from + pageWords : undefined
  })
  const all = words.map(({ word }) => word)
  await sql`delete from search_words where word = any(${unused}::text[])
    and unused_since < now() - ${unusedHours}::int4 * interval '1 hour'`
  await sql`update search_words set unused_since = now() where word = any(${unused}::text[]) and unused_since is null`
  await sql`update search_words set unused_since = null
    where word = any(${all}::text[]) and word <> all(${unused}::text[]) and unused_since is not null`
  return words.length === wordsOfRun ? words.at(-1)!.word : undefined
}

/** A word consists of letters and digits, so nothing is escaped. */
async function isUsed(sql: Sql, word: string): Promise<boolean> {
  const rows = await sql`select from search where doc @@ ${`'${word}'`}::text::tsquery limit 1`
  return rows.length > 0
}
