import { LRUCache } from 'lru-cache'
import { noHits } from '../metrics/counts.ts'
import { type CachedBody, gzipCharacters, notModified, page } from '../wire/answers.ts'

/**
 * Answers a read whose ETag was looked up for this very request: with 304, the cached body of that ETag, or a body that
 * `build` makes, which may be newer than the ETag, never older, and has its own. `version` is the version of the project.
 */
export type Serve = (
  request: Request,
  key: string,
  etag: string,
  build: () => Promise<CachedBody>,
  version?: number,
) => Promise<Response>

/** Caches at most `limitBytes` of bodies. */
export function openServe(limitBytes: number, counts = noHits()): Serve {
  const bodies = new LRUCache<string, CachedBody>({
    maxSize: Math.max(1, limitBytes),
    sizeCalculation: weigh,
  })
  return async (request, key, etag, build, version) => {
    const known = notModified(request, etag, version)
    if (known) return known
    const kept = bodies.get(key)
    if (kept?.etag === etag) {
      counts.hits++
      return page(request, kept, version)
    }
    counts.misses++
    const built = await build()
    bodies.set(key, built)
    return page(request, built, version)
  }
}

/** Text may take two bytes a character, and one more when it is cached compressed too; an entry takes about 200 bytes. */
const weigh = ({ body, link }: CachedBody, key: string): number =>
  2 * (key.length + body.length + (link?.length ?? 0)) +
  (body.length < gzipCharacters ? 0 : body.length) +
  200
