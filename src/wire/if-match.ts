import { Refusal } from './refusals.ts'
import { plainTag } from './form-tags.ts'

export const changed = () => new Refusal(412, 'The resource has changed: its ETag is not the one in If-Match')

/** Holds a write to its `If-Match` (RFC 9110, 13.1.1), compared strongly. @throws Refusal 412 */
export function requireEtag(ifMatch: string | undefined, etag: string): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return
  if (ifMatch.split(',').some((tag) => plainTag(tag.trim()) === etag)) return
  throw changed()
}
