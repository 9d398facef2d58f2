import { grouped, inOrder } from '../postgres/grouped.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { isId } from '../id-format.ts'
import { nameTag } from './versions.ts'

/** Finds an account by its id or email, or by the id of a member or of a project that the account owns. */
export interface AccountKey {
  by: 'id' | 'email' | 'member' | 'owner'
  key: string
}

/** `nameTag` is the part of an ETag that changes when any account is renamed. */
export interface Person {
  id: string
  name: string
  email: string
  nameTag: string
  isUnverified?: boolean
  serves?: string | null
}

export type FindPerson = (key: AccountKey) => Promise<Person | undefined>

/** @param needsVerified whether only a verified email address identifies an account */
export function openFindPerson(sql: Sql, needsVerified = false): FindPerson {
  const isUnverified = needsVerified ? sql`u.email_verified_at is null` : sql`false`
  const finder = (from: SqlPart, key: SqlPart, list: 'uuid' | 'text') =>
    grouped({ keys: 500, slots: 2 }, async (keys: string[]) => {
      const wanted = list === 'uuid' ? sql`${keys}::uuid[]` : sql`${keys}::text[]`
      const rows = await sql<(Person & { key: string })[]>`
        select ${key} as key, u.id, u.name, u.email, u.project_id as serves, ${nameTag(sql)} as name_tag,
          ${isUnverified} as is_unverified
        from ${from} where ${key} = any(${wanted})`
      return inOrder(keys, rows, (row) => row.key)
    })
  const find = {
    id: finder(sql`users u`, sql`u.id`, 'uuid'),
    email: finder(sql`users u`, sql`u.email`, 'text'),
    member: finder(sql`members m join users u on u.id = m.user_id`, sql`m.id`, 'uuid'),
    owner: finder(sql`projects p join users u on u.id = p.owner_id`, sql`p.id`, 'uuid'),
  }
  return async ({ by, key }) => (by === 'email' || isId(key) ? find[by](key) : undefined)
}
