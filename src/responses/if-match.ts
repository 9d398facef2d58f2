import { HttpError } from './errors.ts'

export const preconditionFailed = () =>
  new HttpError(412, 'The resource has changed: If-Match does not contain its current ETag')

/** The compressed body needs its own ETag: strong ETags of different bytes must differ. */
export const gzipTag = (etag: string): string => `${etag.slice(0, -1)}-gzip"`
export const plainTag = (etag: string): string => etag.replace(/-gzip"$/, '"')

/** Compares `If-Match` (RFC 9110, 13.1.1) strongly. */
export function requireEtag(ifMatch: string | undefined, etag: string): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return
  if (!ifMatch.split(',').some((tag) => plainTag(tag.trim()) === etag)) throw preconditionFailed()
}

/**
 * Runs in the actor, so the row cannot change before the commit. Ignores the parts of an ETag after a dot, which change
 * with a user's name or with the time.
 */
export function requireMatch({ ifMatch }: { ifMatch?: string }, { eventId }: { eventId: string }): void {
  requireEtag(ifMatch?.replaceAll(/(\.[\w-]+)+(?=")/g, ''), `"${eventId}"`)
}
