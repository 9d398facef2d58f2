import { HttpError } from './errors.ts'

export const preconditionFailed = () =>
  new HttpError(412, 'The resource has changed: If-Match does not contain its current ETag')

/** Returns the ETag of the compressed body. Strong ETags of different bytes must differ. */
export const gzipTag = (etag: string): string => `${etag.slice(0, -1)}-gzip"`
export const plainTag = (etag: string): string => etag.replace(/-gzip"$/, '"')

/** Compares `If-Match` (RFC 9110, 13.1.1) strongly. @throws HttpError 412 */
export function requireEtag(ifMatch: string | undefined, etag: string): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return
  if (!ifMatch.split(',').some((tag) => plainTag(tag.trim()) === etag)) throw preconditionFailed()
}

/**
 * Compares `If-Match` with the row. It runs in the actor, so the row cannot change before the commit. It ignores the
 * part of an ETag after a dot, which changes with a user's name: names do not belong to the project.
 * @throws HttpError 412
 */
export function requireMatch({ ifMatch }: { ifMatch?: string }, { eventId }: { eventId: string }): void {
  requireEtag(ifMatch?.replaceAll(/\.[\w-]+(?=")/g, ''), `"${eventId}"`)
}
