import { LRUCache } from 'lru-cache'
import { newHits } from '../metrics/counts.ts'
import { isCurrentEtag } from './current-etag.ts'
import { type CachedBody, gzipCharacters, notModified, respondWithBody } from './reply.ts'

type Build = () => Promise<CachedBody>

/**
 * Responds with 304, the cached body of `etag`, or the body that `build` returns, which is never older than `etag`. With
 * `renaming`, `build` may return a timed ETag.
 */
export function openBodyCache(limitBytes: number, counts = newHits()) {
  const bodies = new LRUCache<string, CachedBody>({
    maxSize: Math.max(1, limitBytes),
    sizeCalculation: cachedBytes,
  })
  const keep = async (request: Request, key: string, build: Build, version?: number): Promise<Response> => {
    const built = await build()
    bodies.set(key, built)
    return respondWithBody(request, built, version)
  }
  // Not async, because a promise for each cached body would cost more than the look-up.
  return (
    request: Request,
    key: string,
    etag: string,
    build: Build,
    version?: number,
    renaming?: string,
  ): Response | Promise<Response> => {
    const unchanged = notModified(request, etag, version, renaming)
    if (unchanged) return unchanged
    const cached = bodies.get(key)
    const isCurrent = cached !== undefined && isCurrentEtag(cached.etag, etag, renaming)
    counts[isCurrent ? 'hits' : 'misses']++
    return isCurrent ? respondWithBody(request, cached, version) : keep(request, key, build, version)
  }
}

/** A character takes 2 bytes (measured), or 3 if the body is also stored compressed. A cache entry takes 200 bytes. */
const cachedBytes = ({ body, link }: CachedBody, key: string): number =>
  2 * (key.length + body.length + (link?.length ?? 0)) +
  (body.length < gzipCharacters ? 0 : body.length) +
  200
