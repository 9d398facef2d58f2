import { ImportError } from '../../../modules/imports/items.ts'
import type { Caller } from '../../../src/identity/rights.ts'
import type { Sql } from '../../../src/postgres/database.ts'

/** @throws ImportError if the API token that began the work was deleted or has expired */
export async function requireToken(sql: Sql, { token }: Caller): Promise<void> {
  if (!token) return
  const [row] = await sql`select id from api_tokens where id = ${token.id} and expires_at > now()`
  if (!row) throw new ImportError('The API token of the request was deleted, or has expired')
}
