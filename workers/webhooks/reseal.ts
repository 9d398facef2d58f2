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
 * Recurring: seals with the service's first secret what was sealed with another one, so that that may go. Answers where its
 * slice ended; undefined at the end.
 */
export async function resealSecrets(
  sql: Sql,
  sealing: Sealing,
  pace: Pace,
  after = nilId,
): Promise<string | undefined> {
  let place: string | undefined = after
  try {
    await perPage(pace, after, async (from) => (place = await resealPage(sql, sealing, pace.batchRows, from)))
  } catch (error) {
    if (!(error instanceof SliceOver)) throw error
  }
  return place
}

async function resealPage(sql: Sql, { renewed }: Sealing, rows: number, after: string) {
  const found = await sql<Sealed[]>`
    select id, secret, former_secret from webhooks where id > ${after} order by id limit ${rows}`
  const changes = found.flatMap(({ id, secret: was, formerSecret: formerWas }) => {
    const [is, formerIs] = [renewed(was), formerWas && renewed(formerWas)]
    return is === was && formerIs === formerWas ? [] : { id, was, is, formerWas, formerIs }
  })
  if (changes.length > 0)
    await sql`
    update webhooks w set secret = r."is", former_secret = r."formerIs"
    from jsonb_to_recordset(${JSON.stringify(changes)}::text::jsonb)
      as r(id uuid, was text, "is" text, "formerWas" text, "formerIs" text)
    where w.id = r.id and w.secret = r.was and w.former_secret is not distinct from r."formerWas"`
  return found.length === rows ? found.at(-1)!.id : undefined
}
