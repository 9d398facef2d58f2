import type { Sealing } from '../../src/identity/sealed.ts'
import { nilId } from '../../src/ids.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { type Pace, perPage, SliceOver } from '../pace.ts'

interface Sealed {
  id: string
  secret: string
  formerSecret: string | null
}

/**
 * Recurring: encrypts with the service's first secret what was encrypted with another one, so that the other may go. Returns
 * the last id of its slice; undefined at the end.
 */
export async function resealSecrets(sql: Sql, { renewed }: Sealing, pace: Pace, after = nilId) {
  let last: string | undefined = after
  const resealPage = async (from: string) => {
    const rows = await sql<Sealed[]>`
      select id, secret, former_secret from webhooks where id > ${from} order by id limit ${pace.batchRows}`
    for (const { id, secret, formerSecret } of rows) {
      const [next, nextFormer] = [renewed(secret), formerSecret && renewed(formerSecret)]
      if (next !== secret || nextFormer !== formerSecret)
        await sql`update webhooks set secret = ${next}, former_secret = ${nextFormer}
          where id = ${id} and secret = ${secret} and former_secret is not distinct from ${formerSecret}`
    }
    return (last = rows.length === pace.batchRows ? rows.at(-1)!.id : undefined)
  }
  await perPage(pace, after, resealPage).catch((error: unknown) => {
    if (!(error instanceof SliceOver)) throw error
  })
  return last
}
