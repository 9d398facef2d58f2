import type { Static } from '@sinclair/typebox'
import { canonicalId } from '../../src/id-format.ts'
import { isIdPart, readCursor, readLimit } from '../../src/reads/pages.ts'
import { parseInstant } from '../../src/schema/text.ts'
import { type HitType, type SearchParameters, types } from './schema.ts'
import { readSearchText } from './text/query.ts'

/** The place of a hit in the order of hits. */
export interface HitKey {
  rank: number
  at: string
  id: string
}

/** The order by time: the newest first, of equal times the greatest id. */
export type Newest = Pick<HitKey, 'at' | 'id'>

export type SearchRequest = ReturnType<typeof readSearchRequest>

/** @throws HttpError 400 if `q`, `limit` or `cursor` is invalid */
export function readSearchRequest(query: Static<typeof SearchParameters>) {
  const cursor = query.cursor === undefined ? null : readCursor(query.cursor, cursorParts)
  const [newestAt, newestId, rank, at, id] = (cursor ?? []) as string[]
  return {
    query: readSearchText(query.q),
    types: types.filter((one) => !query.types || (query.types.split(',') as HitType[]).includes(one)),
    projectId: query.projectId && canonicalId(query.projectId),
    limit: readLimit(query.limit, 50, 200),
    /** The newest hit of the first page: later hits are not on the next pages, so that no hit is repeated. */
    newest: cursor && { at: newestAt!, id: newestId! },
    after: cursor && { rank: Number(rank), at: at!, id: id! },
  }
}

export const cursorOf = (newest: Newest, last: HitKey): string[] => [
  newest.at,
  newest.id,
  String(last.rank),
  last.at,
  last.id,
]

/** Sorts by rank; hits of the same rank by time. */
export const compareHits = (a: HitKey, b: HitKey): number => a.rank - b.rank || compareTimes(a, b)

export function compareTimes(a: Newest, b: Newest): number {
  const [one, other] = [a.at + a.id, b.at + b.id]
  return one > other ? -1 : one < other ? 1 : 0
}

const isTime = (part: unknown) => typeof part === 'string' && parseInstant(part) === part
const isRank = (part: unknown) => typeof part === 'string' && /^\d\.?\d{0,20}$/.test(part)
const cursorParts = [isTime, isIdPart, isRank, isTime, isIdPart]
