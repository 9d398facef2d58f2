import type { Reading } from '../../src/commands/query.ts'
import type { Following } from '../../src/followers/following.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import type { Frames } from './frames.ts'

/** What a stream's reader may see, and up to which version it is certain that they may. */
export interface Sight {
  seen: Seen
  heldAt: number
}

/**
 * Whether a reader may still see what was read for them: asked of the database, unless all that happened since their
 * rights were known was committed here just now, and changed nobody's.
 * @throws Refusal 401 or 404
 */
export const openStillSeen =
  ({ authenticate, recent }: Pick<Services, 'authenticate' | 'recent'>) =>
  async ({ request }: Reading, { seen, heldAt }: Sight, frames: Frames, { beyond }: Following) => {
    const caller = await authenticate.caller(request)
    const plainUpTo = recent.plainSince(seen.projectId, heldAt) ?? 0
    if (plainUpTo >= Math.max(frames.upTo, seen.version, beyond)) return { seen, heldAt: plainUpTo }
    const now = await frames.seenBy(caller)
    // What was looked at for many may be older than what one knows.
    return { seen: seen.version > now.version ? seen : now, heldAt: now.version }
  }
