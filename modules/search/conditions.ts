import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import type { IndexWord } from './cost/look-up.ts'
import { allInTitle, type SearchQuery, someInTitle, termQuery, wholeQuery } from './text/query.ts'

/** Conditions on a document, each as the text of a tsquery. */
export interface Conditions {
  whole: string
  /** Every document that matches contains each of these words. */
  words: IndexWord[]
  allInTitle: string
  someInTitle: string
}

export const conditionsOf = (query: SearchQuery): Conditions => ({
  whole: wholeQuery(query),
  words: indexWordsOf(query),
  allInTitle: allInTitle(query),
  someInTitle: someInTitle(query),
})

/** The sample counts each word, and a look-up needs few. A long phrase may have hundreds of words. */
const maxIndexWords = 16

/**
 * Returns distinct words of the terms: the longest, which tend to be rare. The index of words has no positions, so a phrase
 * counts as its words.
 */
export function indexWordsOf({ terms }: Pick<SearchQuery, 'terms'>): IndexWord[] {
  const words = terms.flatMap(({ lexemes, isPrefix, isDense }) =>
    lexemes.map((lexeme, n): IndexWord => {
      const isLast = isPrefix && n === lexemes.length - 1
      return { text: termQuery({ lexemes: [lexeme], isPrefix: isLast, isDense }), isPrefix: isLast }
    }),
  )
  const distinct = [...new Map(words.map((word) => [word.text, word])).values()]
  return distinct.sort((a, b) => b.text.length - a.text.length).slice(0, maxIndexWords)
}

export const joined = (sql: Sql, parts: SqlPart[], by: SqlPart): SqlPart =>
  parts.length === 0 ? sql`` : parts.reduce((all, one) => sql`${all} ${by} ${one}`)
