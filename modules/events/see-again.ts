import { notFound } from '../../src/wire/refusals.ts'
import type { Reading } from '../../src/commands/query.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import { ahead } from './parameters.ts'

/** Where a reader is: at a seq, and at the event that they know to be there, if they know it. */
export interface Position {
  seq: number
  id?: string | undefined
}

/**
 * What a reader who waited may see by now: their token may have ended, or their role. And what they have seen may be lost,
 * where a standby took over that was behind, or a backup: then `said` is what their place is called.
 * @throws Refusal 400, 401 or 404
 */
export const openSeeAgain =
  ({ authenticate, findRole }: Pick<Services, 'authenticate' | 'findRole'>, said?: string) =>
  async ({ request, caller }: Reading, projectId: string, { seq, id }: Position): Promise<Seen> => {
    await authenticate.caller(request)
    const seen = await findRole(caller, projectId)
    if (!seen) throw notFound('Project')
    const { version, lastEventId } = seen
    if (seq > version || (seq === version && id !== undefined && id !== lastEventId)) throw ahead(said)
    return seen
  }
