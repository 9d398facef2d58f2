import { Refusal } from './refusals.ts'
import { plainTag } from './form-tags.ts'

export const changed = () => new Refusal(412, 'The resource has changed: its ETag is not the one in If-Match')

/** Holds a write to its `If-Match` (RFC 9110, 13.1.1), compared strongly. @throws Refusal 412 */
export function requireEtag(ifMatch: string | undefined, etag: string): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return
  if (ifMatch.split(',').some((tag) => plainTag(tag.trim()) === etag)) return
  throw changed()
}

/**
 * Holds a write to its `If-Match` (RFC 9110, 13.1.1), compared strongly with the row as it is now. Called by rules,
 * so inside the actor: between the comparison and the commit nothing can happen. What an ETag says after a dot is of
 * somebody's name, which is no state of the project.
 * @throws Refusal 412
 */
export function requireMatch({ ifMatch }: { ifMatch?: string }, { eventId }: { eventId: string }): void {
  requireEtag(ifMatch?.replaceAll(/\.[\w-]+(?=")/g, ''), `"${eventId}"`)
}
