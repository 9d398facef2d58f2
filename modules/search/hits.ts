import { inIterations } from '../../src/admission/own-iteration.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { conditionsOf, indexWordsOf } from './conditions.ts'
import { findDocuments, type FoundDocument } from './documents.ts'
import { kinds } from './indexing/rows.ts'
import { findKnownRows } from './known-rows.ts'
import { type LiveRow, readLiveRows, type Scope } from './live-rows.ts'
import { compareHits, compareTimes, type Newest, type SearchRequest } from './parameters.ts'
import type { Sizes } from './cost/look-up.ts'
import type { Hit } from './schema.ts'
import { readSizes } from './cost/sizes.ts'
import { findSimilarTitles } from './similar-titles.ts'
import type { SearchQuery, Term } from './text/query.ts'
import { readSnippet, snippetOf } from './text/snippet.ts'

export interface HitPage {
  hits: Hit[]
  /** The last document of the page, if there is a next page, and the newest of all documents found. */
  next?: { last: FoundDocument; newest: Newest }
}

export type SizedRequest = SearchRequest & { sizes?: Sizes }

/** Undefined for a search without words. */
export async function sizesOf(
  sql: Sql,
  projectIds: string[],
  query: SearchQuery,
): Promise<Sizes | undefined> {
  const words = indexWordsOf(query)
  return words.length > 0 ? readSizes(sql, projectIds, words) : undefined
}

/** Returns one page of the hits, ranked. A page is shorter than `limit` if rows disappeared while the search ran. */
export async function readHits(sql: Sql, scope: Scope, wanted: SizedRequest): Promise<HitPage> {
  const { found, terms, isFuzzy } = await findAll(sql, scope, wanted)
  const { after, limit } = wanted
  const ranked = found.sort(compareHits).filter((one) => !after || compareHits(one, after) > 0)
  const shown = ranked.slice(0, limit)
  const rows = await readLiveRows(sql, scope, shown)
  const work = shown.flatMap(({ id }) => (rows.has(id) ? [readHit(rows.get(id)!, terms, isFuzzy)] : []))
  const hits = await inIterations(work, scope.userId)
  if (ranked.length <= limit) return { hits }
  const newest = wanted.newest ?? found.toSorted(compareTimes)[0]!
  return { hits, next: { last: shown.at(-1)!, newest } }
}

interface Found {
  found: FoundDocument[]
  terms: Term[]
  isFuzzy?: true
}

async function findAll(sql: Sql, { projectIds }: Scope, wanted: SizedRequest): Promise<Found> {
  const { query, newest, sizes } = wanted
  const documents = { projectIds, newest, kinds: wanted.types.map((type) => kinds[type]) }
  const [known, matching] = await Promise.all([
    findKnownRows(sql, documents, query.text),
    query.terms.length > 0
      ? findDocuments(sql, { ...documents, conditions: conditionsOf(query), sizes })
      : [],
  ])
  const ids = new Set<string>()
  const found = [...known, ...matching].filter(({ id }) => !ids.has(id) && ids.add(id))
  if (found.length > 0) return { found, terms: query.terms }
  return { ...(await findSimilarTitles(sql, documents, query)), isFuzzy: true }
}

function* readHit({ text, ...row }: LiveRow, terms: Term[], isFuzzy?: true): Generator<undefined, Hit> {
  const ofText = text !== null && !isFuzzy ? yield* readSnippet(text, { terms }) : undefined
  const { text: shown, matches } = ofText?.count ? ofText : snippetOf(row.title, { terms })
  return { ...row, snippet: { text: shown, matches }, ...(isFuzzy && { fuzzy: true }) }
}
