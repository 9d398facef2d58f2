import { requireRole } from '../../src/identity/roles.ts'
import type { Session } from '../../src/identity/validity.ts'
import { isId } from '../../src/ids.ts'
import type { Services } from '../../src/services.ts'
import type { Holder } from '../tokens/queries.ts'
import type { Asked } from '../tokens/work.ts'
import { noAccount } from './commands.ts'
import { versionOf } from './queries.ts'

interface Routed {
  request: Request
  claims: Session
  address: string
  params: { id: string; accountId: string }
}

/** Who looks after the tokens of a service account: the admins of its project. */
export function openLookingAfter({ database, findRole }: Pick<Services, 'database' | 'findRole'>) {
  return ({ request, claims, address, params }: Routed): Asked => {
    const { id, accountId } = params
    return {
      request,
      claims,
      address,
      path: `/projects/${id}/service-accounts/${accountId}/tokens`,
      /** @throws Refusal 404 or 403 */
      async holder(): Promise<Holder> {
        const seen = isId(id) ? await findRole(claims.caller, id) : undefined
        requireRole(seen?.role, 'ADMIN', 'Project')
        const version = isId(accountId) ? await versionOf(database.reads, id, accountId) : undefined
        if (version === undefined) throw noAccount()
        return { userId: accountId, version }
      },
    }
  }
}
