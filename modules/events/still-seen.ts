import type { Made } from '../../src/commit/recent.ts'
import type { Reading } from '../../src/commands/query.ts'
import type { Following } from '../../src/followers/following.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import type { Frames } from './frames.ts'
import { lastEventIdHeader } from './parameters.ts'
import { openSeeAgain, type Position } from './see-again.ts'

/** What a stream's reader may see, and the version up to which it is certain that they may. */
export interface Sight {
  seen: Seen
  held: Made
}

/**
 * Whether a reader may still see what was read for them: asked of the database, unless all that happened since their
 * rights were known was committed here just now, and changed nobody's.
 * @throws Refusal 400, 401 or 404
 */
export function openStillSeen(means: Pick<Services, 'authenticate' | 'findRole' | 'recent'>) {
  const { authenticate, recent } = means
  const seeAgain = openSeeAgain(means, lastEventIdHeader)
  return async (
    reading: Reading,
    at: Sight & { position: Position },
    frames: Frames,
    following: Following,
  ) => {
    const { seen, held, position } = at
    if (frames.end.seq === position.seq) {
      // There was no room for what was heard of, beside others, or it was lost with a primary: the database says which.
      following.forget(position.seq)
      const now = await seeAgain(reading, seen.projectId, position)
      return { seen: now, held: now }
    }
    const caller = await authenticate.caller(reading.request)
    const plain = recent.plainSince(seen.projectId, held)
    if (plain && plain.version >= Math.max(frames.end.seq, seen.version, following.beyond))
      return { seen, held: plain }
    const now = await frames.seenBy(caller)
    // What was looked at for many may be older than what one knows.
    return { seen: seen.version > now.version ? seen : now, held: now }
  }
}
