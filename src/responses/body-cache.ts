import { LRUCache } from 'lru-cache'
import { newHits } from '../metrics/counts.ts'
import { type CachedBody, gzipCharacters, notModified, respondWithBody } from './reply.ts'

type Build = () => Promise<CachedBody>

/**
 * Opens a cache of response bodies, with at most `limitBytes`. The returned function needs the current ETag of the
 * resource. It responds with 304, with the cached body of this ETag, or with the body that `build` returns, which may
 * be newer than the ETag but never older. `version` is the project's version.
 */
export function openBodyCache(limitBytes: number, counts = newHits()) {
  const bodies = new LRUCache<string, CachedBody>({
    maxSize: Math.max(1, limitBytes),
    sizeCalculation: cachedBytes,
  })
  return async (request: Request, key: string, etag: string, build: Build, version?: number) => {
    const unchanged = notModified(request, etag, version)
    if (unchanged) return unchanged
    const cached = bodies.get(key)
    const isCurrent = cached?.etag === etag
    counts[isCurrent ? 'hits' : 'misses']++
    if (isCurrent) return respondWithBody(request, cached, version)
    const built = await build()
    bodies.set(key, built)
    return respondWithBody(request, built, version)
  }
}

/**
 * Estimates the memory of a cached body: two bytes a character, one more byte if the body may also be compressed, and
 * 200 bytes for the cache entry.
 */
const cachedBytes = ({ body, link }: CachedBody, key: string): number =>
  2 * (key.length + body.length + (link?.length ?? 0)) +
  (body.length < gzipCharacters ? 0 : body.length) +
  200
