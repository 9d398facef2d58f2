import { HttpError } from './errors.ts'

export const preconditionFailed = () =>
  new HttpError(412, 'The resource has changed: If-Match does not contain its current ETag')

/** The compressed body needs its own ETag: strong ETags of different bytes must differ. */
export const gzipTag = (etag: string): string => `${etag.slice(0, -1)}-gzip"`

/**
 * Removes the suffix that compression adds to a tag: `-gzip` by this service or by Apache, other suffixes by Apache and
 * Caddy.
 */
export const plainTag = (tag: string): string => tag.replace(/-(?:gzip|br|zstd|deflate)"$/, '"')

/** Returns the tags of a header without `W/`, which nginx and HAProxy add when they compress. */
const tagsIn = (header: string): string[] => header.split(',').map((tag) => tag.trim().replace(/^W\//, ''))

/** Returns the first tag of a header that `isCurrent` accepts with or without its suffix. */
export const findTag = (header: string, isCurrent: (tag: string) => boolean): string | undefined =>
  tagsIn(header).find((tag) => isCurrent(tag) || isCurrent(plainTag(tag)))

/**
 * Compares `If-Match`. Unlike RFC 9110, 13.1.1, accepts the tag of a compressed response: compression does not change
 * the resource, and a client behind a proxy that compresses knows no other tag.
 */
export function requireEtag(ifMatch: string | undefined, etag: string): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return
  if (findTag(ifMatch, (tag) => tag === etag) === undefined) throw preconditionFailed()
}

/**
 * Runs in the actor, so the row cannot change before the commit. Ignores the parts of an ETag after a dot, which change
 * with a user's name or with the time.
 */
export function requireMatch({ ifMatch }: { ifMatch?: string }, { eventId }: { eventId: string }): void {
  requireEtag(ifMatch?.replaceAll(/(\.[\w-]+)+(?=")/g, ''), `"${eventId}"`)
}
