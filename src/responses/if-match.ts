import { HttpError } from './errors.ts'

export const preconditionFailed = () =>
  new HttpError(412, 'The resource has changed: its ETag is not the one in If-Match')

/** The ETag of the compressed form: other bytes, so another strong ETag. */
export const gzipTag = (etag: string): string => `${etag.slice(0, -1)}-gzip"`
export const plainTag = (etag: string): string => etag.replace(/-gzip"$/, '"')

/** Compares `If-Match` (RFC 9110, 13.1.1) strongly. @throws HttpError 412 */
export function requireEtag(ifMatch: string | undefined, etag: string): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return
  if (!ifMatch.split(',').some((tag) => plainTag(tag.trim()) === etag)) throw preconditionFailed()
}

/**
 * Compares `If-Match` with the row inside the actor, so nothing changes between the comparison and the commit. The part
 * of an ETag after a dot stands for a person's name, which is no state of the project.
 * @throws HttpError 412
 */
export function requireMatch({ ifMatch }: { ifMatch?: string }, { eventId }: { eventId: string }): void {
  requireEtag(ifMatch?.replaceAll(/\.[\w-]+(?=")/g, ''), `"${eventId}"`)
}
