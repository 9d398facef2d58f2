import { nowMs } from '../ids.ts'

/** True if a response with the ETag `tag` still has the content that belongs to `etag`. */
export function isCurrentEtag(tag: string, etag: string, renaming?: string): boolean {
  if (tag === etag) return true
  if (renaming === undefined || !tag.startsWith(`${etag.slice(0, -1)}.u`)) return false
  const [, until = '', shownAt] = /\.u([0-9a-z]+)\.([\w-]+)"$/.exec(tag) ?? []
  return Number.parseInt(until, 36) > nowMs() && shownAt === renaming
}
