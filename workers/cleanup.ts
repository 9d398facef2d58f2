import type { Sql, SqlPart } from '../src/postgres/database.ts'
import { type Throttle, whilePagesAreFull } from './throttle.ts'

/** @param at an indexed column with the time of the row */
const expiring = (table: string, key: string, at: string) => {
  return (sql: Sql, throttle: Throttle, hours = 0): Promise<void> =>
    whilePagesAreFull(throttle, async () => {
      const [from, keys, time] = [table, key, at].map((text) => sql.unsafe(text)) as [
        SqlPart,
        SqlPart,
        SqlPart,
      ]
      const { count } = await sql`
        delete from ${from} where (${keys}) in (
          select ${keys} from ${from}
          where ${time} < now() - ${hours}::int4 * interval '1 hour' order by ${time} limit ${throttle.batchRows})`
      return count
    })
}

export const expireKeys = expiring('idempotency_keys', 'scope, key', 'created_at')
export const expireApiTokens = expiring('api_tokens', 'id', 'expires_at')
export const expireRevokedTokens = expiring('revoked_tokens', 'jti', 'expires_at')
export const expireMailTokens = expiring('mail_tokens', 'id', 'expires_at')
