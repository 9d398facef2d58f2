import { errorCode } from '../../src/postgres/errors.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { findDocuments, type FoundDocument, type Similarities, type Wanted } from './documents.ts'
import { kinds } from './indexing/rows.ts'
import { readSizes } from './cost/sizes.ts'
import { comparableWords, type SearchQuery, type Term, termQuery } from './text/query.ts'

/** The most words of a search that are compared. With 60,000 words in titles, a comparison takes 2 ms (measured). */
const maxWords = 4
/**
 * Similar words of a word. `search_words` has the words of all projects, so perhaps none of the most similar words is in a
 * title that the caller may see. Then more words are searched.
 */
const similarPerWord = [5, 60]

/** SQLSTATE of an operator that does not exist: without the extension pg_trgm there are no similar titles. */
const undefinedFunction = '42883'

export interface SimilarTitles {
  found: FoundDocument[]
  /** The similar words, to mark in the titles. */
  terms: Term[]
}

/** Returns titles with words that are similar to the words of the search. A smaller rank means more similar. */
export async function findSimilarTitles(
  sql: Sql,
  wanted: Omit<Wanted, 'conditions' | 'similar' | 'sizes'>,
  query: SearchQuery,
): Promise<SimilarTitles> {
  const titles = { ...wanted, kinds: wanted.kinds.filter((kind) => kind !== kinds.comment) }
  const words = titles.kinds.length > 0 ? comparableWords(query).slice(0, maxWords) : []
  const similar = words.length > 0 ? await similarWords(sql, words) : []
  const tries = attempts(similar)
  if (tries.length === 0) return { found: [], terms: [] }
  const excluded = query.excluded.map((term) => ` & !${termQuery(term)}`).join('')
  const indexWords = tries.map(({ text }) => ({ text: text.replaceAll(':A', ''), isPrefix: false }))
  const sizes = await readSizes(sql, wanted.projectIds, indexWords)
  for (const [n, { text, terms }] of tries.entries()) {
    const conditions = {
      ...{ whole: `(${text})${excluded}`, words: [indexWords[n]!] },
      ...{ allInTitle: text, someInTitle: text },
    }
    const ownSizes = { ...sizes, words: [sizes.words[n]!] }
    const found = await findDocuments(sql, { ...titles, conditions, similar, sizes: ownSizes })
    if (found.length > 0) return { found, terms }
  }
  return { found: [], terms: [] }
}

/** Returns what titles may contain, the most similar first: a similar word for each word, or for some word. */
function attempts(similar: Similarities[]): { text: string; terms: Term[] }[] {
  const all = [' & ', ' | '].flatMap((operator) =>
    similarPerWord.map((count) => {
      const groups = similar.map((words) => [...words.keys()].slice(0, count).map(asTerm))
      const words = groups.map((terms) => `(${terms.map((term) => termQuery(term, 'A')).join(' | ')})`)
      return { text: words.join(operator), terms: groups.flat() }
    }),
  )
  return [...new Map(all.filter(({ text }) => text).map((one) => [one.text, one])).values()]
}

/** Returns the similar words of each word that has some. */
async function similarWords(sql: Sql, words: string[]): Promise<Similarities[]> {
  const rows = await unprepared(sql<{ n: number; word: string; similarity: number }[]>`
    select q.n::int4 as n, w.word, w.similarity from unnest(${words}::text[]) with ordinality q(word, n)
    cross join lateral (
      select w.word, similarity(w.word, q.word)::float8 as similarity from search_words w where w.word % q.word
      order by 2 desc, 1 limit ${similarPerWord.at(-1)!}) w`).catch((error: unknown) => {
    if (errorCode(error) === undefinedFunction) return []
    throw error
  })
  return [...Map.groupBy(rows, ({ n }) => n).values()].map(
    (some) => new Map(some.map(({ word, similarity }) => [word, similarity])),
  )
}

const asTerm = (word: string): Term => ({ lexemes: [word], isPrefix: false, isDense: false })
