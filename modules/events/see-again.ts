import { notFound } from '../../src/wire/refusals.ts'
import type { Reading } from '../../src/commands/query.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'

/** What a reader who waited may see by now: their token may have ended, or their role. @throws Refusal 401 or 404 */
export const openSeeAgain =
  ({ authenticate, findRole }: Pick<Services, 'authenticate' | 'findRole'>) =>
  async ({ request, caller }: Reading, projectId: string): Promise<Seen> => {
    await authenticate.caller(request)
    const seen = await findRole(caller, projectId)
    if (!seen) throw notFound('Project')
    return seen
  }
