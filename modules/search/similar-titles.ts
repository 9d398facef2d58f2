import { errorCode } from '../../src/postgres/errors.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { findDocuments, type FoundDocument, ofProjects, type Wanted } from './documents.ts'
import { kinds } from './indexing/rows.ts'
import { comparableWords, type SearchQuery, type Term, termQuery } from './text/query.ts'

/** The most words of a search that are compared. With 60,000 words in titles, a comparison takes 2 ms (measured). */
const maxWords = 4
/** Similar words of a word: `search_words` has the words of all projects, so few of them may be in the caller's projects. */
const candidatesPerWord = 60
const similarPerWord = 5
/** The most documents in which the candidates are looked for. */
const maxChecked = 500
/** With more projects, one look-up serves all of them. Each look-up reads all documents that are not merged. */
const maxLookUps = 5

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
  wanted: Omit<Wanted, 'conditions'>,
  query: SearchQuery,
): Promise<SimilarTitles> {
  const groups = await similarWords(sql, comparableWords(query).slice(0, maxWords), wanted.projectIds)
  const titles = { ...wanted, kinds: wanted.kinds.filter((kind) => kind !== kinds.comment) }
  if (groups.length === 0 || titles.kinds.length === 0) return { found: [], terms: [] }
  const excluded = query.excluded.map((term) => ` & !${termQuery(term)}`).join('')
  const words = groups.map((terms) => `(${terms.map((term) => termQuery(term, 'A')).join(' | ')})`)
  for (const text of new Set([words.join(' & '), words.join(' | ')])) {
    const whole = `(${text})${excluded}`
    const conditions = { whole, words: [{ text, isPrefix: true }], allInTitle: text, someInTitle: text }
    const found = await findDocuments(sql, { ...titles, conditions })
    if (found.length > 0) return { found: await bySimilarity(sql, found, query.text), terms: groups.flat() }
  }
  return { found: [], terms: [] }
}

/** Returns a group of terms for each word that has similar words: the most similar of all, and of the caller's projects. */
async function similarWords(sql: Sql, words: string[], projectIds: string[]): Promise<Term[][]> {
  const groups = (await candidatesOf(sql, words)).map((candidates) => candidates.map(asTerm))
  const isUsed = await usedIn(
    sql,
    [...new Set(groups.flat().map((term) => termQuery(term, 'A')))],
    projectIds,
  )
  return groups.map((terms) => {
    const used = terms.filter((term) => isUsed.has(termQuery(term, 'A')))
    return [...new Set([...terms.slice(0, similarPerWord), ...used.slice(0, similarPerWord)])]
  })
}

async function candidatesOf(sql: Sql, words: string[]): Promise<string[][]> {
  const rows = await unprepared(sql<{ similar: string[] }[]>`
    select array(select w.word from search_words w where w.word % q.word
      order by similarity(w.word, q.word) desc, w.word limit ${candidatesPerWord}) as similar
    from unnest(${words}::text[]) q(word)`).catch((error: unknown) => {
    if (errorCode(error) === undefinedFunction) return []
    throw error
  })
  return rows.flatMap(({ similar }) => (similar.length > 0 ? [similar] : []))
}

/** Returns which of the tsquery texts match titles of the projects, as far as the first documents tell. */
async function usedIn(sql: Sql, queries: string[], projectIds: string[]): Promise<Set<string>> {
  if (queries.length === 0) return new Set()
  // The index has no weights: without them in the look-up, it need not check each document.
  const some = queries.join(' | ').replaceAll(':A', '')
  const rows = await unprepared(sql<{ query: string }[]>`
    with found as materialized (select s.doc from search s
      where s.doc @@ ${some}::tsquery and ${ofProjects(sql, projectIds, projectIds.length <= maxLookUps)}),
    checked as materialized (select doc from found limit ${maxChecked})
    select q.query from unnest(${queries}::text[], ${queries}::text[]::tsquery[]) q(query, parsed)
    where exists (select from checked where doc @@ q.parsed)`)
  return new Set(rows.map(({ query }) => query))
}

const asTerm = (word: string): Term => ({ lexemes: [word], isPrefix: false, isDense: false })

async function bySimilarity(sql: Sql, found: FoundDocument[], text: string): Promise<FoundDocument[]> {
  const ids = found.map(({ id }) => id)
  const rows = await unprepared(sql<{ id: string; rank: number }[]>`
    select id, (1 - similarity(title, ${text}))::float8 as rank from (
      select id, title from tasks where id = any(${ids}::uuid[])
      union all select id, name from projects where id = any(${ids}::uuid[])) r`)
  const ranks = new Map(rows.map(({ id, rank }) => [id, Math.round(rank * 10_000) / 10_000]))
  return found.flatMap((one) => (ranks.has(one.id) ? [{ ...one, rank: ranks.get(one.id)! }] : []))
}
