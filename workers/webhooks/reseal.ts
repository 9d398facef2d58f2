import type { Sealing } from '../../src/identity/sealed.ts'
import { nilId } from '../../src/ids.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { type Pace, perPage } from '../pace.ts'

interface Sealed {
  id: string
  secret: string
  formerSecret: string | null
}

/** Recurring: seals with the service's first secret what was sealed with another one, so that that may go. */
export const resealSecrets = (sql: Sql, { renewed }: Sealing, pace: Pace): Promise<void> =>
  perPage(pace, nilId, async (after) => {
    const rows = await sql<Sealed[]>`
      select id, secret, former_secret from webhooks where id > ${after} order by id limit ${pace.batchRows}`
    for (const { id, secret, formerSecret } of rows) {
      const [fresh, former] = [renewed(secret), formerSecret && renewed(formerSecret)]
      if (fresh === secret && former === formerSecret) continue
      await sql`
        update webhooks set secret = ${fresh}, former_secret = ${former}::text
        where id = ${id} and secret = ${secret} and former_secret is not distinct from ${formerSecret}::text`
    }
    return rows.length === pace.batchRows ? rows.at(-1)!.id : undefined
  })
