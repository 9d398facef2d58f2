import type { Database } from '../../src/postgres/database.ts'
import type { Services } from '../../src/services.ts'
import { openSearchIndex, type SearchIndex } from './indexing/index-projects.ts'

/** One index for each process, so that concurrent searches index a project once. */
const opened = new WeakMap<Database, SearchIndex>()

export function searchIndexOf({ database, config }: Services): SearchIndex {
  const existing = opened.get(database)
  if (existing) return existing
  const index = openSearchIndex(database.indexing, config.readTimeoutMs / 2, database.reads)
  opened.set(database, index)
  return index
}

export const indexedHeader = 'docket-indexed'

/** Sets the header that says how much of the documents is indexed: `all`, or a percentage. */
export function withIndexed(response: Response, indexed: 'all' | number): Response {
  response.headers.set(indexedHeader, indexed === 'all' ? indexed : `${indexed}%`)
  return response
}
