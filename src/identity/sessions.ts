import { LRUCache } from 'lru-cache'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { unauthorized } from '../wire/refusals.ts'
import { byOrdinal } from '../postgres/in-order.ts'
import type { Caller } from './caller.ts'
import type { Claims, Tokens } from './tokens.ts'

/** How long a look at the database is believed: a token that is revoked is refused everywhere within this time. */
const believedMs = 500

/** A token that was verified. By performance.now(): when the database last held it valid, and how long it is believed. */
export interface Session extends Claims {
  caller: Caller
  seenAt: number
  believedUntil: number
}

export type Authenticate = ReturnType<typeof openAuthenticate>

/** Finds who sends a request: verifies the bearer token, that its user exists and that nobody revoked it. */
export function openAuthenticate(sql: Sql, tokens: Tokens) {
  // By the whole header. Verifying costs about 16 µs, a look-up less than one; 10,000 are about 8 MB.
  const sessions = new LRUCache<string, Session>({ max: 10_000 })
  const changedAt = new LRUCache<string, number>({ max: 10_000 })
  const look = openLook(sql)

  /** Verifies the bearer token of a request; whether it still holds, or has expired, is not asked. @throws Refusal 401 */
  async function session(request: Request): Promise<Session> {
    const header = request.headers.get('authorization')
    if (!header) throw unauthorized('A bearer token is required')
    const known = sessions.get(header)
    if (known) return known
    const token = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(header)?.[1]
    const claims = token ? await tokens.verify(token) : null
    if (!claims) throw unauthorized('The bearer token is not valid')
    const caller = { userId: claims.userId }
    const opened = { ...claims, caller, seenAt: -Infinity, believedUntil: -Infinity }
    sessions.set(header, opened)
    return opened
  }

  /** True when the token was seen to hold just now, and its account has not changed since. */
  function isBelieved({ seenAt, believedUntil, userId }: Session): boolean {
    return performance.now() < believedUntil && seenAt > (changedAt.get(userId) ?? 0)
  }

  /** @throws Refusal 401 for a token that has expired, whatever else became of it. */
  async function requireInTime(said: Session): Promise<void> {
    const { leftMs } = await look(said)
    if (!(leftMs > 0)) throw unauthorized('The bearer token is not valid')
  }

  /** @throws Refusal 401 for the token of an account that is gone, or one that has expired or was revoked. */
  async function require(said: Session): Promise<void> {
    if (isBelieved(said)) return
    const now = performance.now() // from before the look, which may be older than its answer
    const { leftMs, isHeld } = await look(said)
    if (!isHeld || !(leftMs > 0)) throw unauthorized('The bearer token is not valid')
    said.seenAt = now
    said.believedUntil = now + Math.min(believedMs, leftMs)
  }

  return {
    session,
    require,
    requireInTime,

    /** Who sends the request, if their token was seen to hold just now: most requests wait for nothing. */
    believed(request: Request): Caller | undefined {
      const said = sessions.get(request.headers.get('authorization') ?? '')
      return said && isBelieved(said) ? said.caller : undefined
    },

    /** Who sends the request. @throws Refusal 401 */
    async caller(request: Request): Promise<Caller> {
      const said = await session(request)
      if (!isBelieved(said)) await require(said)
      return said.caller
    },

    /** The account or its tokens have changed: what was seen of them before is believed no longer. */
    changed(userId: string): void {
      changedAt.set(userId, performance.now())
    },
  }
}

/** How long a token lives yet, by the database's clock, and whether it is one that its account has and nobody revoked. */
interface Look {
  n: number
  leftMs: number
  isHeld: boolean | null
}

/** Looks at tokens in the database, many in one query. */
const openLook = (sql: Sql) =>
  batched({ keys: 500, slots: 2 }, async (keys: Claims[]) => {
    const rows = await sql<Look[]>`
      select q.n::int4 as n, (q.expires_at - extract(epoch from now())::float8) * 1000 as left_ms,
        u.token_version = q.version and not exists (select from revoked_tokens r where r.jti = q.token_id) as is_held
      from unnest(${keys.map((k) => k.userId)}::uuid[], ${keys.map((k) => k.tokenId)}::uuid[],
          ${keys.map((k) => String(k.version))}::text[]::float8[], ${keys.map((k) => String(k.expiresAt))}::text[]::float8[])
        with ordinality q(user_id, token_id, version, expires_at, n)
      left join users u on u.id = q.user_id`
    return byOrdinal(keys.length, rows) as Look[]
  })
