import { LRUCache } from 'lru-cache'
import type { Distribution } from '../metrics/distribution.ts'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { byOrdinal } from '../postgres/in-order.ts'
import { badToken } from '../wire/refusals.ts'
import type { Caller } from './rights.ts'
import type { Claims } from './tokens.ts'

/** How long a look at the database is believed: a token that is revoked is refused everywhere within this time. */
const believedMs = 500

/** A token that was looked at. By performance.now(): when the database last held it valid, and how long it is believed. */
export interface Seen {
  caller: Caller
  seenAt: number
  believedUntil: number
}

/** A sign-in token that was verified. */
export interface Session extends Claims, Seen {}

export const notYetSeen = { seenAt: -Infinity, believedUntil: -Infinity }

/** Holds for a moment what was seen `now`, from before the look, which may be older than its answer. */
export function believe(session: Seen, now: number, leftMs: number): void {
  session.seenAt = now
  session.believedUntil = now + Math.min(believedMs, leftMs)
}

/** Knows whether verified tokens still hold. */
export function openValidity(sql: Sql, waits?: Distribution) {
  const changedAt = new LRUCache<string, number>({ max: 10_000 })
  const look = openLook(sql, waits)

  /** True when the token was seen to hold just now, and its account has not changed since. */
  const isBelieved = ({ seenAt, believedUntil, caller }: Seen): boolean =>
    performance.now() < believedUntil && seenAt > (changedAt.get(caller.userId) ?? 0)

  return {
    isBelieved,

    /** Whether a token still holds. @throws Refusal 401 for one that has expired, whatever else became of it. */
    async holdsInTime(session: Session): Promise<boolean> {
      const { leftMs, isHeld } = await look(session)
      if (!(leftMs > 0)) throw badToken()
      return isHeld === true
    },

    /** @throws Refusal 401 for the token of an account that is gone, or one that has expired or was revoked. */
    async require(session: Session): Promise<void> {
      if (isBelieved(session)) return
      const now = performance.now()
      const { leftMs, isHeld } = await look(session)
      if (!isHeld || !(leftMs > 0)) throw badToken()
      believe(session, now, leftMs)
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
const openLook = (sql: Sql, waits?: Distribution) =>
  batched({ keys: 500, slots: 2, waits }, async (keys: Claims[]) => {
    const rows = await sql<Look[]>`
      select q.n::int4 as n, (q.expires_at - extract(epoch from now())::float8) * 1000 as left_ms,
        u.token_version = q.version and not exists (select from revoked_tokens r where r.jti = q.token_id) as is_held
      from unnest(${keys.map((k) => k.userId)}::uuid[], ${keys.map((k) => k.tokenId)}::uuid[],
          ${keys.map((k) => String(k.version))}::text[]::float8[], ${keys.map((k) => String(k.expiresAt))}::text[]::float8[])
        with ordinality q(user_id, token_id, version, expires_at, n)
      left join users u on u.id = q.user_id`
    return byOrdinal(keys.length, rows) as Look[]
  })
