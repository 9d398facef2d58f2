import type { Distribution } from '../metrics/family.ts'
import { grouped } from '../postgres/grouped.ts'
import type { Sql } from '../postgres/database.ts'
import { byOrdinal } from '../postgres/row-order.ts'
import type { Caller } from './rights.ts'
import type { Claims } from './tokens.ts'

/**
 * Processes check a token in the database again in each period of this length. Until then, they may accept a revoked
 * token. All checks end with the period, so that the next checks of many tokens share a query.
 */
const validityMs = 500

/** A token's last check. Times are on the clock of performance.now(). */
export interface CheckedSession {
  caller: Caller
  checkedAt: number
  validUntil: number
}

export interface Session extends Claims, CheckedSession {}

export const unchecked = { checkedAt: -Infinity, validUntil: -Infinity }

/** @param now the time before the query was sent */
export function setValidity(session: CheckedSession, now: number, leftMs: number): void {
  session.checkedAt = now
  session.validUntil = Math.min((Math.floor(now / validityMs) + 1) * validityMs, now + leftMs)
}

export interface Validity {
  /** The time until the token expires. */
  leftMs: number
  /** True if the account exists and the token is not revoked. */
  isValid: boolean | null
}

export const openReadValidity = (sql: Sql, waits?: Distribution) =>
  grouped({ keys: 500, slots: 2, waits }, async (keys: Claims[]) => {
    const rows = await sql<(Validity & { n: number })[]>`
      select q.n::int4 as n, (q.expires_at - extract(epoch from now())::float8) * 1000 as left_ms,
        u.token_version = q.version and not exists (select from revoked_tokens r where r.jti = q.token_id) as is_valid
      from unnest(${keys.map((k) => k.userId)}::uuid[], ${keys.map((k) => k.tokenId)}::uuid[],
          ${keys.map((k) => String(k.version))}::text[]::float8[], ${keys.map((k) => String(k.expiresAt))}::text[]::float8[])
        with ordinality q(user_id, token_id, version, expires_at, n)
      left join users u on u.id = q.user_id`
    return byOrdinal(keys.length, rows) as Validity[]
  })
