import type { Distribution } from '../metrics/distribution.ts'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { byOrdinal } from '../postgres/row-order.ts'
import type { Caller } from './rights.ts'
import type { Claims } from './tokens.ts'

/** How long the database's answer is believed: a revoked token is rejected everywhere within this time. */
const believedMs = 500

/** An account as it was read last, with the times of the read and of its expiry on the clock of performance.now(). */
export interface Seen {
  caller: Caller
  seenAt: number
  believedUntil: number
}

/** A sign-in token whose signature was verified. */
export interface Session extends Claims, Seen {}

export const notYetSeen = { seenAt: -Infinity, believedUntil: -Infinity }

/** @param now before the database was asked */
export function believe(session: Seen, now: number, leftMs: number): void {
  session.seenAt = now
  session.believedUntil = now + Math.min(believedMs, leftMs)
}

/** How long a token lives yet, by the database's clock, and whether its account exists and nobody revoked it. */
export interface Validity {
  leftMs: number
  isHeld: boolean | null
}

/** Reads whether sign-in tokens hold, many in one query. */
export const openReadValidity = (sql: Sql, waits?: Distribution) =>
  batched({ keys: 500, slots: 2, waits }, async (keys: Claims[]) => {
    const rows = await sql<(Validity & { n: number })[]>`
      select q.n::int4 as n, (q.expires_at - extract(epoch from now())::float8) * 1000 as left_ms,
        u.token_version = q.version and not exists (select from revoked_tokens r where r.jti = q.token_id) as is_held
      from unnest(${keys.map((k) => k.userId)}::uuid[], ${keys.map((k) => k.tokenId)}::uuid[],
          ${keys.map((k) => String(k.version))}::text[]::float8[], ${keys.map((k) => String(k.expiresAt))}::text[]::float8[])
        with ordinality q(user_id, token_id, version, expires_at, n)
      left join users u on u.id = q.user_id`
    return byOrdinal(keys.length, rows) as Validity[]
  })
