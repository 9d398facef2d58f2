import { BodyCache, type CachedBody } from './body-cache.ts'
import { patiently } from './database.ts'
import { isKnown, notModified, page } from './wire.ts'

/**
 * Answers a read whose ETag was looked up for this very request: 304 when the caller has it, the body kept under
 * that ETag, or one that `build` makes, and which is then kept. What `build` makes may be newer than the ETag
 * asked for, never older, and says its own.
 */
export type Serve = (
  request: Request,
  key: string,
  etag: string,
  build: () => Promise<CachedBody>,
) => Promise<Response>

export function openServe(limitBytes: number): Serve {
  const bodies = new BodyCache(limitBytes)
  return async (request, key, etag, build) => {
    if (isKnown(request, etag)) return notModified(etag)
    const kept = bodies.get(key, etag)
    if (kept) return page(kept)
    const built = await patiently(build)
    bodies.set(key, built)
    return page(built)
  }
}
