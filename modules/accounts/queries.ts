import type { IdempotencyRecord } from '../../src/commit/idempotency.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { newId } from '../../src/ids.ts'
import { writeExactlyOnce, retryOnce } from '../../src/postgres/errors.ts'
import type { Claims } from '../../src/identity/tokens.ts'
import { insertJob, type OutboxJob } from '../../src/jobs/queue.ts'
import type { OwnUser } from './user.ts'

export interface Account extends OwnUser {
  passwordHash: string
  tokenVersion: number
}

const account = (sql: Sql) =>
  sql`id, name, email, password_hash, token_version, email_verified_at is not null as email_verified`

/** Also finds an address in Unicode's form NFD, in which earlier releases may have stored it. */
export async function accountByEmail(sql: Sql, email: string): Promise<Account | undefined> {
  const [row] = await retryOnce(
    () => sql<Account[]>`
      select ${account(sql)} from users
      where email = any(${[email, email.normalize('NFD')]}::text[]) and project_id is null
      order by email = ${email} desc limit 1`,
  )
  return row
}

export async function accountById(sql: Sql, id: string): Promise<Account | undefined> {
  const [row] = await retryOnce(() => sql<Account[]>`select ${account(sql)} from users where id = ${id}`)
  return row
}

/** Rows that a write stores in the same statement. */
interface StoredToo {
  job?: OutboxJob | undefined
  record?: IdempotencyRecord | undefined
}

/**
 * Writes exactly once. Returns false if nothing was written.
 * @param write CTEs; the CTE `done` returns a row if it writes. @param written SQL: returns a row if the write is committed
 */
export const writeOnce = (
  sql: Sql,
  write: SqlPart,
  written: SqlPart,
  { job, record }: StoredToo,
): Promise<boolean> =>
  writeExactlyOnce(
    () => sql`
      with ${write}, queued as (${insertJob(sql, job)}), recorded as (${insertRecord(sql, record)}) select from done`,
    () => sql`${written}`,
  )

/** Returns false if another account has the address. */
export async function insertAccount(sql: Sql, account: Account, stored: StoredToo = {}): Promise<boolean> {
  const { id, name, email, passwordHash, tokenVersion, emailVerified } = account
  const insert = sql`
    done as (insert into users (id, name, email, password_hash, token_version, email_verified_at, created_at)
      values (${id}, ${name}, ${email}, ${passwordHash}, ${tokenVersion}, case when ${emailVerified} then now() end, now())
      on conflict (email) do nothing returning id)`
  return writeOnce(sql, insert, sql`select from users where id = ${id}`, stored)
}

/** Returns false if the stored account differs from `before`. */
export async function replaceAccount(
  sql: Sql,
  before: Account,
  after: Account,
  record?: IdempotencyRecord,
): Promise<boolean> {
  const nameChangeId = after.name === before.name ? null : newId()
  const replace = sql`
    done as (update users
      set name = ${after.name}, renamed_by = coalesce(${nameChangeId}::uuid, renamed_by), password_hash = ${after.passwordHash}, token_version = ${after.tokenVersion}
      where ${isUnchanged(sql, before)} returning id),
    name_change as (${nameChangeId ? recordNameChange(sql, nameChangeId) : sql`select`}),
    ended as (${deleteOldTokens(sql, sql`${after.tokenVersion}::int4`)})`
  return writeOnce(sql, replace, sql`select from users where ${isUnchanged(sql, after)}`, { record })
}

/** The job contains the email address and the ids of the API tokens, because they are deleted with the account. */
export async function closeAccountJob(sql: Sql, { id: userId, email }: Account): Promise<OutboxJob> {
  const tokens = await retryOnce(
    () => sql<{ id: string }[]>`select id from api_tokens where user_id = ${userId}`,
  )
  const data = { userId, email, tokenIds: tokens.map(({ id }) => id).join(' ') }
  return { id: newId(), projectId: null, name: 'close-account', data }
}

/** Returns false if the stored account differs from `account`. */
export async function deleteAccount(sql: Sql, account: Account, job: OutboxJob, record?: IdempotencyRecord) {
  const remove = sql`
    done as (delete from users where ${isUnchanged(sql, account)} returning id),
    name_change as (${recordNameChange(sql, newId())}),
    ended as (${deleteOldTokens(sql, sql`${account.tokenVersion + 1}::int4`)}),
    mailed as (delete from mail_tokens t using done where t.user_id = done.id)`
  const isRemoved = sql`select where not exists (select from users where id = ${account.id})`
  return writeOnce(sql, remove, isRemoved, { record, job })
}

export async function storeRecord(sql: Sql, record?: IdempotencyRecord): Promise<void> {
  if (record) await retryOnce(() => sql`with done as (select) ${insertRecord(sql, record)}`)
}

export async function revokeToken(
  sql: Sql,
  { tokenId, expiresAt }: Claims,
  record?: IdempotencyRecord,
): Promise<void> {
  await retryOnce(
    () => sql`
      with done as (select),
      revoked as (insert into revoked_tokens (jti, expires_at) values (${tokenId}, to_timestamp(${expiresAt}::float8)) on conflict do nothing)
      ${insertRecord(sql, record)}`,
  )
}

const isUnchanged = (sql: Sql, { id, name, passwordHash, tokenVersion, emailVerified }: Account) => sql`
  id = ${id} and name = ${name} and password_hash = ${passwordHash} and token_version = ${tokenVersion}
    and (email_verified_at is not null) = ${emailVerified}`

// The SQL parts below belong to a statement with the CTE `done`. They write only if `done` returns a row.

/** Records that a name has changed, which invalidates cached names in all processes. */
export const recordNameChange = (sql: Sql, changeId: string) => sql`
  insert into people (change_id) select ${changeId}::uuid from done limit 1 on conflict (one) do update set change_id = excluded.change_id`

export const deleteOldTokens = (sql: Sql, version: SqlPart) => sql`
  delete from api_tokens t using done where t.user_id = done.id and t.version < ${version}`

export function insertRecord(sql: Sql, record?: IdempotencyRecord) {
  if (!record) return sql`select`
  const { scope, key, fingerprint, status, body, etag } = record
  return sql`insert into idempotency_keys (scope, key, fingerprint, status, body, etag, created_at)
    select ${scope}, ${key}, ${fingerprint}, ${status}::int4, ${body}, ${etag}, now() from done`
}
