import type { Sql } from '../src/postgres/database.ts'
import { type Pace, untilFewer } from './pace.ts'

/** Recurring: removes the answers kept under Idempotency-Key once they are older than `hours`. */
export const expireKeys = (sql: Sql, hours: number, pace: Pace): Promise<void> =>
  untilFewer(pace, async () => {
    const { count } = await sql`
      delete from idempotency_keys where (scope, key) in (
        select scope, key from idempotency_keys
        where created_at < now() - ${hours}::int4 * interval '1 hour' order by created_at limit ${pace.batchRows})`
    return count
  })

/** Recurring: forgets API tokens that have expired. */
export const expireApiTokens = (sql: Sql, pace: Pace): Promise<void> =>
  untilFewer(pace, async () => {
    const { count } = await sql`
      delete from api_tokens where id in (
        select id from api_tokens where expires_at < now() order by expires_at limit ${pace.batchRows})`
    return count
  })

/** Recurring: forgets revoked tokens that have expired meanwhile, and are refused for that. */
export const expireRevokedTokens = (sql: Sql, pace: Pace): Promise<void> =>
  untilFewer(pace, async () => {
    const { count } = await sql`
      delete from revoked_tokens where jti in (
        select jti from revoked_tokens where expires_at < now() order by expires_at limit ${pace.batchRows})`
    return count
  })

/** Recurring: forgets the tokens of mails that have expired. */
export const expireMailTokens = (sql: Sql, pace: Pace): Promise<void> =>
  untilFewer(pace, async () => {
    const { count } = await sql`
      delete from mail_tokens where id in (
        select id from mail_tokens where expires_at < now() order by expires_at limit ${pace.batchRows})`
    return count
  })
