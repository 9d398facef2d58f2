import type { Receiver } from '../../modules/webhooks/send.ts'
import type { Encryption } from '../../src/identity/encryption.ts'
import { nilId } from '../../src/id-format.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { forEachPage, SliceEnded, type Throttle } from '../throttle.ts'

/**
 * After this, the operator can remove all secrets but the first from JWT_SECRET. Returns the last webhook id, or
 * undefined after the last page.
 */
export async function reencryptSecrets(
  sql: Sql,
  { reencrypt }: Encryption,
  throttle: Throttle,
  after = nilId,
) {
  let last: string | undefined = after
  const reencryptPage = async (from: string) => {
    const rows = await sql<Pick<Receiver, 'id' | 'secret' | 'formerSecret'>[]>`
      select id, secret, former_secret from webhooks where id > ${from} order by id limit ${throttle.batchRows}`
    for (const { id, secret, formerSecret } of rows) {
      const [next, nextFormer] = [reencrypt(secret), formerSecret && reencrypt(formerSecret)]
      if (next !== secret || nextFormer !== formerSecret)
        await sql`update webhooks set secret = ${next}, former_secret = ${nextFormer}
          where id = ${id} and secret = ${secret} and former_secret is not distinct from ${formerSecret}`
    }
    return (last = rows.length === throttle.batchRows ? rows.at(-1)!.id : undefined)
  }
  await forEachPage(throttle, after, reencryptPage).catch((error: unknown) => {
    if (!(error instanceof SliceEnded)) throw error
  })
  return last
}
