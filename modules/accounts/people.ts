import { batched } from '../../src/core/batch.ts'
import type { Sql, SqlPart } from '../../src/core/database.ts'
import { isId } from '../../src/core/ids.ts'
import { inOrder } from '../../src/core/in-order.ts'
import { nameTag } from '../../src/core/people.ts'
import type { User } from '../auth/schema.ts'

/** Who somebody is right now, and what tells their name from others they had. */
export interface Person extends User {
  nameTag: string
}

export type FindPerson = (id: string) => Promise<Person | undefined>

/** Finds accounts `u`, many in one query, by a column of what they are joined to; undefined for one that is gone. */
export function openPeople(sql: Sql, from: SqlPart, key: SqlPart): FindPerson {
  const find = batched({ keys: 500, slots: 2 }, async (ids: string[]) => {
    const rows = await sql<(Person & { key: string })[]>`
      select ${key} as key, u.id, u.name, u.email, ${nameTag(sql)} as name_tag from ${from}
      where ${key} = any(${ids}::uuid[])`
    return inOrder(ids, rows, (row) => row.key)
  })
  return async (id) => (isId(id) ? find(id) : undefined)
}

/** Accounts by their id. */
export const openAccounts = (sql: Sql): FindPerson => openPeople(sql, sql`users u`, sql`u.id`)
