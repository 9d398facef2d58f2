import type { IdempotencyRecord } from '../../src/commit/idempotency.ts'
import type { MailPurpose } from '../../src/jobs/queue.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { writeExactlyOnce, retryOnce } from '../../src/postgres/retries.ts'
import { deleteOldTokens, insertRecord } from '../accounts/queries.ts'

/** SQL: mail token `t` is valid; user `u` still has the same address, and for a reset the same token version. */
const isValid = (sql: Sql, id: string, purpose: MailPurpose) => sql`
  t.id = ${id} and t.purpose = ${purpose} and t.used_at is null and t.expires_at > now()
    and u.id = t.user_id and u.email = t.email and (t.purpose = 'verify' or u.token_version = t.version)`

/** Returns false for an invalid token. */
export async function verifyEmail(sql: Sql, id: string, record?: IdempotencyRecord): Promise<boolean> {
  const verify = () => sql`
    with token as (update mail_tokens t set used_at = now() from users u
      where ${isValid(sql, id, 'verify')} returning t.user_id, t.email),
    done as (update users u set email_verified_at = coalesce(u.email_verified_at, now()) from token
      where u.id = token.user_id and u.email = token.email returning u.id),
    recorded as (${insertRecord(sql, record)})
    select id from done`
  return writeExactlyOnce(verify, () => sql`select from mail_tokens where id = ${id} and used_at is not null`)
}

export async function accountOfResetToken(sql: Sql, id: string): Promise<string | undefined> {
  const find = () =>
    sql<{ id: string }[]>`select u.id from mail_tokens t, users u where ${isValid(sql, id, 'reset')}`
  return (await retryOnce(find))[0]?.id
}

/** Also revokes all tokens of the account. Returns false for an invalid mail token. */
export async function resetPassword(
  sql: Sql,
  id: string,
  passwordHash: string,
  record?: IdempotencyRecord,
): Promise<boolean> {
  const reset = () => sql`
    with token as (update mail_tokens t set used_at = now() from users u
      where ${isValid(sql, id, 'reset')} returning t.user_id, t.version),
    done as (update users u set password_hash = ${passwordHash}, token_version = u.token_version + 1 from token
      where u.id = token.user_id and u.token_version = token.version returning u.id, u.token_version as version),
    revoked as (${deleteOldTokens(sql, sql`done.version`)}),
    recorded as (${insertRecord(sql, record)})
    select id from done`
  return writeExactlyOnce(reset, () => sql`select from users where password_hash = ${passwordHash}`)
}
