import type { Sql } from '../../src/core/database.ts'
import type { User } from './schema.ts'

export type UserRow = User & { passwordHash: string }

/** The user with this normalised email address. */
export async function userByEmail(sql: Sql, email: string): Promise<UserRow | undefined> {
  const [user] = await sql<UserRow[]>`select id, name, email, password_hash from users where email = ${email}`
  return user
}
