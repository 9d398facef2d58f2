import type { IdempotencyRecord } from '../../src/commit/idempotency.ts'
import type { Scope } from '../../src/identity/rights.ts'
import type { Claims } from '../../src/identity/tokens.ts'
import { writeExactlyOnce } from '../../src/postgres/errors.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { invalidToken } from '../../src/responses/errors.ts'
import { insertRecord, writeOnce } from '../accounts/queries.ts'
import { type ApiToken, tooManyTokens, maxTokens, type NewToken } from './schema.ts'

type Row = Omit<ApiToken, 'scopes' | 'projects'> & { scopes: string; projects: string | null }

/** A null `created_by` means that the user created the token. */
export async function tokensOf(sql: Sql, userId: string): Promise<ApiToken[]> {
  const rows = await sql<Row[]>`
    select t.id, t.name, scopes, projects, expires_at, (select c.id from users c where c.id = coalesce(t.created_by, t.user_id)
      and (t.created_by is not null or c.project_id is null)) as created_by, t.created_at, last_used_at from api_tokens t
    join users u on u.id = t.user_id and u.token_version = t.version
    where t.user_id = ${userId} and t.expires_at > now() order by t.id`
  return rows.map(({ scopes, projects, ...row }) => ({
    ...row,
    scopes: scopes.split(' ') as Scope[],
    projects: projects?.split(' ') ?? null,
  }))
}

/** Each token of an account takes one of the slots 1 to `maxTokens`. A new token may replace an expired token. */
export async function insertToken(
  sql: Sql,
  { userId, version }: Claims,
  token: NewToken,
  record?: IdempotencyRecord,
): Promise<void> {
  const { id, digest, name, scopes, projects, expiresAt, createdBy, createdAt } = token
  const insert = async (): Promise<boolean> => {
    const [row] = await sql<{ isCurrent: boolean; slot: number | null; id: string | null }[]>`
      with used as (select slot from api_tokens where user_id = ${userId} and version = ${version} and expires_at > now()),
      free as (select min(n)::int4 as slot from generate_series(1, ${maxTokens}::int4) n where n not in (select slot from used)),
      done as (insert into api_tokens as t (id, user_id, version, slot, digest, name, scopes, projects, expires_at, created_by, created_at)
        select ${id}::uuid, u.id, u.token_version, free.slot, ${digest}, ${name}, ${scopes.join(' ')},
          ${projects?.join(' ') ?? null}::text, ${expiresAt}::text::timestamptz, ${createdBy}::uuid, ${createdAt}::text::timestamptz
        from users u, free where u.id = ${userId} and u.token_version = ${version} and free.slot is not null
        on conflict (user_id, version, slot) do update set (id, digest, name, scopes, projects, expires_at, created_by, created_at, last_used_at)
          = (excluded.id, excluded.digest, excluded.name, excluded.scopes, excluded.projects, excluded.expires_at, excluded.created_by, excluded.created_at, null)
          where t.expires_at <= now() returning t.id),
      recorded as (${insertRecord(sql, record)})
      select exists (select from users where id = ${userId} and token_version = ${version}) as is_current,
        (select slot from free) as slot, (select id from done) as id`
    if (row!.id) return true
    if (!row!.isCurrent) throw invalidToken()
    if (row!.slot === null) throw tooManyTokens()
    // A concurrent insert has taken the slot.
    return false
  }
  const isStored = () => sql`select from api_tokens where id = ${id}`
  while (!(await writeExactlyOnce(insert, isStored)));
}

export async function deleteToken(
  sql: Sql,
  userId: string,
  id: string,
  record?: IdempotencyRecord,
): Promise<boolean> {
  const remove = sql`done as (delete from api_tokens where id = ${id} and user_id = ${userId} returning id)`
  const isRemoved = sql`select where not exists (select from api_tokens where id = ${id})`
  return writeOnce(sql, remove, isRemoved, { record })
}
