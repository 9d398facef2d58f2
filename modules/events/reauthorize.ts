import type { Made } from '../../src/commit/recent.ts'
import type { Reading } from '../../src/commands/query.ts'
import type { Following } from '../../src/followers/following.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import { notFound } from '../../src/wire/refusals.ts'
import type { Frames } from './frames.ts'
import { ahead, lastEventIdHeader } from './parameters.ts'

/** A reader's place: a seq, and the event that the reader knows at this seq, if any. */
export interface Position {
  seq: number
  id?: string | undefined
}

/**
 * Checks token and role of a reader who waited. Events that the reader has may be lost after a failover or a restore: then
 * `parameter` names the reader's place.
 * @throws Refusal 400, 401 or 404
 */
export const openReauthorize =
  ({ authenticate, findRole }: Pick<Services, 'authenticate' | 'findRole'>, parameter?: string) =>
  async ({ request, caller }: Reading, projectId: string, { seq, id }: Position): Promise<Seen> => {
    await authenticate.caller(request)
    const seen = await findRole(caller, projectId)
    if (!seen) throw notFound('Project')
    const { version, lastEventId } = seen
    if (seq > version || (seq === version && id !== undefined && id !== lastEventId)) throw ahead(parameter)
    return seen
  }

/** What a stream's reader may see, and the version up to which the reader certainly may see all. */
export interface Sight {
  seen: Seen
  held: Made
}

/**
 * Checks that a reader may see what was read for them. Roles are read again unless all changes since the last check were
 * committed by this process just now, and none changed a role.
 * @throws Refusal 400, 401 or 404
 */
export function openStillSeen(means: Pick<Services, 'authenticate' | 'findRole' | 'recent'>) {
  const { authenticate, recent } = means
  const reauthorize = openReauthorize(means, lastEventIdHeader)
  return async (
    reading: Reading,
    { seen, held, position }: Sight & { position: Position },
    frames: Frames,
    following: Following,
  ): Promise<Sight> => {
    if (frames.end.seq === position.seq) {
      // The stream was notified of events that are lost.
      following.forget(position.seq)
      const now = await reauthorize(reading, seen.projectId, position)
      return { seen: now, held: now }
    }
    const caller = await authenticate.caller(reading.request)
    const plain = recent.plainSince(seen.projectId, held)
    if (plain && plain.version >= Math.max(frames.end.seq, seen.version, following.beyond))
      return { seen, held: plain }
    const now = await frames.seenBy(caller)
    // The shared check may be older than this reader's own.
    return { seen: seen.version > now.version ? seen : now, held: now }
  }
}
