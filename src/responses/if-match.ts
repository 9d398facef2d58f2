import { type ErrorDetails, HttpError } from './errors.ts'

export const preconditionFailed = () =>
  new HttpError(412, 'The resource has changed: If-Match does not contain its current ETag')

const sample = { id: '', etag: '"019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b"' }

/** For a project with `textEdits: "if-match"`. */
export const textUnmatched = (current: NonNullable<ErrorDetails['current']> = sample) =>
  new HttpError(
    428,
    'This project changes the title or an existing description of a task only with If-Match: read the task, edit its current text, and send its ETag in If-Match (in a batch: in ifMatch of the operation)',
    { etag: current.etag },
    { code: 'text-unmatched', current },
  )

/** The compressed body needs its own ETag: strong ETags of different bytes must differ. */
export const gzipTag = (etag: string): string => `${etag.slice(0, -1)}-gzip"`

/**
 * Removes the suffix that compression adds to a tag: `-gzip` by this service or by Apache, other suffixes by Apache and
 * Caddy.
 */
export const plainTag = (tag: string): string => tag.replace(/-(?:gzip|br|zstd|deflate)"$/, '"')

/** Returns the tags of a header without `W/`, which nginx and HAProxy add when they compress. */
const tagsIn = (header: string): string[] => header.split(',').map((tag) => tag.trim().replace(/^W\//, ''))

/** Returns the first tag of a header that equals the ETag with or without its suffix. */
export const findTag = (header: string, etag: string): string | undefined =>
  tagsIn(header).find((tag) => tag === etag || plainTag(tag) === etag)

/**
 * Compares `If-Match`. Unlike RFC 9110, 13.1.1, accepts the tag of a compressed response: compression does not change
 * the resource, and a client behind a proxy that compresses knows no other tag.
 */
export function requireEtag(ifMatch: string | undefined, etag: string): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return
  if (findTag(ifMatch, etag) === undefined) throw preconditionFailed()
}

export interface EtagRow {
  id: string
  eventId: string
}

export interface Condition {
  ifMatch?: string
  /** For an operation of a batch: returns the row before the batch, with which `ifMatch` is compared. */
  rowBefore?(id: string): EtagRow | undefined
}

/**
 * Runs in the actor, so the row cannot change before the commit. Ignores the parts of an ETag after a dot, which change
 * with a user's name or with the time.
 */
export function requireMatch({ ifMatch, rowBefore }: Condition, row: EtagRow): void {
  if (ifMatch === undefined) return
  const compared = rowBefore ? rowBefore(row.id) : row
  if (!compared) throw preconditionFailed()
  requireEtag(ifMatch.replaceAll(/(\.[\w-]+)+(?=")/g, ''), `"${compared.eventId}"`)
}

/** True if the condition names the ETag of a version: `*` accepts every version. */
export const namesVersion = ({ ifMatch }: Condition): boolean =>
  ifMatch !== undefined && ifMatch.trim() !== '*'
