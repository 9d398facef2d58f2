import type { Sql } from '../src/postgres/database.ts'
import { type Throttle, whilePagesAreFull } from './throttle.ts'

/** @param at an indexed column: the time at which a row was created or expires */
const expiring =
  (table: string, key: string, at: string) =>
  (sql: Sql, throttle: Throttle, hours = 0): Promise<void> =>
    whilePagesAreFull(throttle, async () => {
      const old = `select ${key} from ${table} where ${at} < now() - $1::int4 * interval '1 hour' order by ${at} limit $2`
      const values = [hours, throttle.batchRows]
      return (await sql.unsafe(`delete from ${table} where (${key}) in (${old})`, values)).count
    })

export const expireKeys = expiring('idempotency_keys', 'scope, key', 'created_at')
export const expireApiTokens = expiring('api_tokens', 'id', 'expires_at')
export const expireRevokedTokens = expiring('revoked_tokens', 'jti', 'expires_at')
export const expireMailTokens = expiring('mail_tokens', 'id', 'expires_at')
