import type { IdempotencyRecord } from '../../src/commit/idempotency.ts'
import type { MailPurpose } from '../../src/jobs/queue.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { writeExactlyOnce, retryOnce } from '../../src/postgres/errors.ts'
import { deleteOldTokens, insertRecord } from '../accounts/queries.ts'

/** A token holds until it is used or expires, for the account, the address and the password that it was made for. */
const isValid = (sql: Sql, id: string, purpose: MailPurpose) => sql`
  t.id = ${id} and t.purpose = ${purpose} and t.used_at is null and t.expires_at > now()
    and u.id = t.user_id and u.email = t.email and (t.purpose = 'verify' or u.token_version = t.version)`

/** False when the token is not good. */
export async function verifyEmail(sql: Sql, id: string, kept?: IdempotencyRecord): Promise<boolean> {
  const verify = () => sql`
    with token as (update mail_tokens t set used_at = now() from users u
      where ${isValid(sql, id, 'verify')} returning t.user_id, t.email),
    done as (update users u set email_verified_at = coalesce(u.email_verified_at, now()) from token
      where u.id = token.user_id and u.email = token.email returning u.id),
    noted as (${insertRecord(sql, kept)})
    select id from done`
  return writeExactlyOnce(verify, () => sql`select from mail_tokens where id = ${id} and used_at is not null`)
}

/** The account whose password this token sets; undefined when the token is not good. */
export async function accountOfResetToken(sql: Sql, id: string): Promise<string | undefined> {
  const found = () =>
    sql<{ id: string }[]>`select u.id from mail_tokens t, users u where ${isValid(sql, id, 'reset')}`
  return (await retryOnce(found))[0]?.id
}

/** Sets the password and ends all tokens of the account; false when the token is not good. */
export async function resetPassword(
  sql: Sql,
  id: string,
  passwordHash: string,
  kept?: IdempotencyRecord,
): Promise<boolean> {
  const reset = () => sql`
    with token as (update mail_tokens t set used_at = now() from users u
      where ${isValid(sql, id, 'reset')} returning t.user_id, t.version),
    done as (update users u set password_hash = ${passwordHash}, token_version = u.token_version + 1 from token
      where u.id = token.user_id and u.token_version = token.version returning u.id, u.token_version as version),
    ended as (${deleteOldTokens(sql, sql`done.version`)}),
    noted as (${insertRecord(sql, kept)})
    select id from done`
  return writeExactlyOnce(reset, () => sql`select from users where password_hash = ${passwordHash}`)
}
