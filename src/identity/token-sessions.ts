import { grouped } from '../postgres/grouped.ts'
import type { Sql } from '../postgres/database.ts'
import { byOrdinal } from '../postgres/row-order.ts'
import { invalidToken } from '../responses/errors.ts'
import { digestOfToken, isApiToken } from './api-tokens.ts'
import { type Caller, highestScope, type Scope } from './rights.ts'
import { unchecked, type CheckedSession, type Validity } from './validity.ts'

/** A process records the use of a token at most once in this time. */
const recordUseEveryMs = 60_000

/** A well-formed API token. Its caller is unknown until the token is read. */
export interface TokenSession extends CheckedSession {
  digest: string
  useRecordedAt: number
}

/** Concurrent reads share a query. Calls `onUse` with the ids of used tokens. */
export function openTokenSessions(sql: Sql, onUse: (tokenId: string) => void) {
  const find = grouped({ keys: 500, slots: 2 }, async (digests: string[]) => {
    const rows = await sql<TokenRow[]>`
      select q.n::int4 as n, t.id, t.user_id, t.scopes, t.projects, u.project_id as service_project_id,
        extract(epoch from t.expires_at - now())::float8 * 1000 as left_ms
      from unnest(${digests}::text[]) with ordinality q(digest, n)
      join api_tokens t on t.digest = q.digest and t.expires_at > now()
      join users u on u.id = t.user_id and u.token_version = t.version
      where u.project_id is null or exists (select from projects p
        join members m on m.project_id = p.id and m.user_id = u.id where p.id = u.project_id)`
    return byOrdinal(digests.length, rows)
  })
  return {
    /** @throws HttpError 401 for a malformed token, without a query */
    open(token: string): TokenSession {
      if (!isApiToken(token)) throw invalidToken()
      return { digest: digestOfToken(token), caller: unknownCaller, useRecordedAt: -Infinity, ...unchecked }
    },

    async read(session: TokenSession): Promise<Validity> {
      const now = performance.now()
      const found = await find(session.digest)
      if (!found) return { isValid: false, leftMs: 0 }
      if (session.caller === unknownCaller) session.caller = callerOf(found)
      if (now >= session.useRecordedAt + recordUseEveryMs) {
        session.useRecordedAt = now
        onUse(found.id)
      }
      return { isValid: true, leftMs: found.leftMs }
    },
  }
}

const unknownCaller: Caller = { userId: '' }

interface TokenRow {
  n: number
  id: string
  userId: string
  scopes: string
  projects: string | null
  /** The project of the service account; null for a user. */
  serviceProjectId: string | null
  leftMs: number
}

function callerOf({ id, userId, scopes, projects, serviceProjectId }: TokenRow): Caller {
  const scope = highestScope(scopes.split(' ') as Scope[])
  const some = projects?.split(' ') ?? null
  if (!serviceProjectId) return { userId, token: { id, scope, projects: some } }
  const own = some?.includes(serviceProjectId) === false ? [] : [serviceProjectId]
  return { userId, token: { id, scope, projects: own, isService: true } }
}

/** Uses of tokens are written once a second, at most 1,000 in one statement. */
const writeEveryMs = 1_000
const maxWritten = 1_000

/** Writes the time of the last use of tokens, precise to a minute. A crash may lose the last second. */
export function openRecordUse(sql: Sql): (tokenId: string) => void {
  const used = new Set<string>()
  const write = () => {
    const ids = [...used]
    used.clear()
    sql`update api_tokens set last_used_at = now() where id = any(${ids}::uuid[])
      and (last_used_at is null or last_used_at < now() - interval '1 minute')`.catch(() => {})
  }
  return (tokenId) => {
    if (used.size === 0) setTimeout(write, writeEveryMs).unref()
    used.add(tokenId)
    if (used.size === maxWritten) write()
  }
}
