import { LRUCache } from 'lru-cache'
import { newHits } from '../metrics/counts.ts'
import { type CachedBody, gzipCharacters, notModified, respondWithBody } from './reply.ts'

type Build = () => Promise<CachedBody>

/**
 * Opens a cache of at most `limitBytes` of bodies. It responds to a read whose current ETag was read for this request: with
 * 304, with the cached body of that ETag, or with the body that `build` returns, which may be newer than the ETag but never
 * older. `version` is the project's version.
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
    if (cached?.etag === etag) {
      counts.hits++
      return respondWithBody(request, cached, version)
    }
    counts.misses++
    const built = await build()
    bodies.set(key, built)
    return respondWithBody(request, built, version)
  }
}

/** Estimates the memory of a body: two bytes a character, one more if compressed too, and 200 of the map (measured). */
const cachedBytes = ({ body, link }: CachedBody, key: string): number =>
  2 * (key.length + body.length + (link?.length ?? 0)) +
  (body.length < gzipCharacters ? 0 : body.length) +
  200
