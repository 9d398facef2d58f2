import { LRUCache } from 'lru-cache'
import { batched } from './batch.ts'
import type { Sql } from './database.ts'
import { unauthorized } from './errors.ts'
import { byOrdinal } from './in-order.ts'
import type { Claims, Tokens } from './tokens.ts'

/** How long a look at the database is believed: a token that is revoked is refused everywhere within this time. */
const believedMs = 500

/** A token that was verified, and when the database was last seen to hold it valid. */
export interface Session extends Claims {
  seenAt: number
}

export type Authenticate = ReturnType<typeof openAuthenticate>

/** Finds who sends a request: verifies the bearer token, that its user exists and that nobody revoked it. */
export function openAuthenticate(sql: Sql, tokens: Tokens) {
  // By the whole header. Verifying costs about 16 µs, a look-up less than one; 10,000 are about 8 MB.
  const sessions = new LRUCache<string, Session>({ max: 10_000 })
  const changedAt = new LRUCache<string, number>({ max: 10_000 })
  const holds = openHolds(sql)

  /** Verifies the bearer token of a request; whether it still holds is not asked. @throws Refusal 401 */
  async function session(request: Request): Promise<Session> {
    const header = request.headers.get('authorization')
    if (!header) throw unauthorized('A bearer token is required')
    const known = sessions.get(header)
    if (known && isInTime(known)) return known
    const token = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(header)?.[1]
    const claims = token ? await tokens.verify(token) : null
    if (!claims) throw unauthorized('The bearer token is not valid')
    const opened = { ...claims, seenAt: -Infinity }
    sessions.set(header, opened)
    return opened
  }

  /** True when the token was seen to hold just now, and its account has not changed since. */
  function isBelieved({ seenAt, userId }: Session): boolean {
    return performance.now() - seenAt < believedMs && seenAt > (changedAt.get(userId) ?? 0)
  }

  /** @throws Refusal 401 for the token of an account that is gone, or one that was revoked. */
  async function require(said: Session): Promise<void> {
    if (isBelieved(said)) return
    const now = performance.now() // from before the look, which may be older than its answer
    if (!(await holds(said))) throw unauthorized('The bearer token is not valid')
    said.seenAt = now
  }

  return {
    session,
    require,

    /** The user id of who sends the request. @throws Refusal 401 */
    async caller(request: Request): Promise<string> {
      const said = await session(request)
      if (!isBelieved(said)) await require(said)
      return said.userId
    },

    /** The account or its tokens have changed: what was seen of them before is believed no longer. */
    changed(userId: string): void {
      changedAt.set(userId, performance.now())
    },
  }
}

const isInTime = ({ expiresAt }: Claims): boolean => expiresAt * 1000 > Date.now()

/** Asks the database whether tokens hold, many in one query. */
const openHolds = (sql: Sql) =>
  batched({ keys: 500, slots: 2 }, async (keys: Claims[]) => {
    const rows = await sql<{ n: number; version: number }[]>`
      select q.n::int4 as n, u.token_version as version
      from unnest(${keys.map((k) => k.userId)}::uuid[], ${keys.map((k) => k.tokenId)}::uuid[])
        with ordinality q(user_id, token_id, n)
      join users u on u.id = q.user_id
      where not exists (select from revoked_tokens r where r.jti = q.token_id)`
    return byOrdinal(keys.length, rows).map((row, i) => row?.version === keys[i]!.version)
  })
