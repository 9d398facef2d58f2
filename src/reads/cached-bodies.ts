import { LRUCache } from 'lru-cache'
import { noHits } from '../metrics/counts.ts'
import { type CachedBody, gzipCharacters, notModified, page } from '../wire/answers.ts'

/**
 * Answers a read whose ETag was looked up for this very request: 304 when the caller has it, the body kept under
 * that ETag, or one that `build` makes, and which is then kept. What `build` makes may be newer than the ETag
 * asked for, never older, and says its own. `version` is what the one project had that it is about.
 */
export type Serve = (
  request: Request,
  key: string,
  etag: string,
  build: () => Promise<CachedBody>,
  version?: number,
) => Promise<Response>

/** Keeps at most `limitBytes` of bodies. None is ever trusted by itself: the ETag asked for decides. */
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

/**
 * Text may take two bytes a character, and one more when it is kept compressed too; the rest is the map's own share,
 * measured at about 200 bytes an entry.
 */
const weigh = ({ body, link }: CachedBody, key: string): number =>
  2 * (key.length + body.length + (link?.length ?? 0)) +
  (body.length < gzipCharacters ? 0 : body.length) +
  200
