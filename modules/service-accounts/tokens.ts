import { draftOf, guardOf } from '../../src/http/once.ts'
import { digestOfToken, newApiToken } from '../../src/identity/api-tokens.ts'
import { requireRole } from '../../src/identity/roles.ts'
import type { Session } from '../../src/identity/validity.ts'
import { isId } from '../../src/ids.ts'
import type { Services } from '../../src/services.ts'
import type { Holder } from '../tokens/queries.ts'
import type { WantedToken } from '../tokens/schema.ts'
import { type Asked, openTokenWork, once, wanted } from '../tokens/work.ts'
import { createToken, deleteToken, noAccount } from './commands.ts'
import { versionOf } from './queries.ts'

interface Routed {
  request: Request
  claims: Session
  address: string
  params: { id: string; accountId: string; tokenId?: string }
}

/** What admins of a project may do with the tokens of its service accounts. */
export function openServiceAccountTokens(services: Services) {
  const { list } = openTokenWork(services)
  return {
    list: (routed: Routed) => list(askedOf(services, routed)),
    create: (routed: Routed, body: WantedToken) => create(services, routed, body),
    delete: (routed: Routed) => end(services, routed),
  }
}

const create = (services: Services, routed: Routed, body: WantedToken) =>
  once(services, askedOf(services, routed), body, async (_, keep) => {
    const token = newApiToken()
    const { caller } = routed.claims
    const { id, name, scopes, projects, expiresAt, createdAt } = await wanted(services, caller.userId, body)
    const input = {
      ...{ ...placeOf(routed), id, name, expiresAt, createdAt },
      ...{ scopes: scopes.join(' '), projects: projects?.join(' ') ?? null },
      ...{ digest: digestOfToken(token), sealed: services.sealing.seal(token) },
    }
    return draftOf(await services.run({ name: createToken.name, input, caller, guard: guardOf(keep) }))
  })

const end = (services: Services, routed: Routed) =>
  once(services, askedOf(services, routed), null, async ({ userId }, keep) => {
    const input = { ...placeOf(routed), tokenId: routed.params.tokenId! }
    const { caller } = routed.claims
    const reply = await services.run({ name: deleteToken.name, input, caller, guard: guardOf(keep) })
    services.authenticate.changed(userId)
    return draftOf(reply)
  })

const placeOf = ({ params: { id, accountId } }: Routed) => ({ projectId: id, accountId })

function askedOf({ database, findRole }: Services, { request, claims, address, params }: Routed): Asked {
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
