import { createHash } from 'node:crypto'
import { type CachedBody, notModified, page } from './answers.ts'

/** A strong ETag made of what is answered itself, for what no version counts. */
export const digestOf = (body: string, link: string | null = null): string =>
  `"${createHash('sha256')
    .update(link ?? '')
    .update('\n')
    .update(body)
    .digest('base64url')
    .slice(0, 27)}"`

/** Answers what was just read under the digest of it: 304 when the caller has the very same. */
export function digested(
  request: Request,
  { body, link }: Omit<CachedBody, 'etag'>,
  version?: number,
): Response | Promise<Response> {
  return tagged(request, { body, link, etag: digestOf(body, link) }, version)
}

/** Answers what was just read under an ETag of its own. */
export const tagged = (request: Request, kept: CachedBody, version?: number): Response | Promise<Response> =>
  notModified(request, kept.etag, version) ?? page(request, kept, version)
