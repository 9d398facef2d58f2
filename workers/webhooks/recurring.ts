import type { Receiver } from '../../modules/webhooks/send.ts'
import { nilId } from '../../src/id-format.ts'
import type { Encryption } from '../../src/identity/secrets.ts'
import { firstIdAt, nowMs } from '../../src/ids.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { forEachPage, SliceEnded, type Throttle, whilePagesAreFull } from '../throttle.ts'

const keptMs = 30 * 86_400_000
const searchRows = 500

/** Searches the next page of webhooks. Returns the last webhook id, or undefined after the last page. */
export async function expireDeliveries(
  sql: Sql,
  throttle: Throttle,
  after = nilId,
): Promise<string | undefined> {
  const oldest = firstIdAt(nowMs() - keptMs)
  const page = await sql<{ webhookId: string; isDeleted: boolean; hasOld: boolean }[]>`
    with recursive next as (
      (select webhook_id from webhook_deliveries where webhook_id > ${after} order by webhook_id limit 1)
      union all
      select (select d.webhook_id from webhook_deliveries d where d.webhook_id > next.webhook_id order by d.webhook_id limit 1)
      from next where next.webhook_id is not null),
    page as (select webhook_id from next where webhook_id is not null limit ${searchRows})
    select webhook_id, (select id from webhooks w where w.id = webhook_id) is null as is_deleted,
      (select id < ${oldest}::uuid from webhook_deliveries d where d.webhook_id = page.webhook_id order by id limit 1) as has_old
    from page`
  for (const { webhookId, isDeleted, hasOld } of page) {
    const old = isDeleted ? sql`` : sql`and id < ${oldest}::uuid`
    if (isDeleted || hasOld) await removeDeliveries(sql, sql`webhook_id = ${webhookId} ${old}`, throttle)
  }
  return page.length === searchRows ? page.at(-1)!.webhookId : undefined
}

export const removeDeliveries = (sql: Sql, where: SqlPart, throttle: Throttle) =>
  whilePagesAreFull(throttle, async () => {
    const { count } = await sql`
      delete from webhook_deliveries where (webhook_id, id) in (
        select webhook_id, id from webhook_deliveries where ${where}
        order by webhook_id, id limit ${throttle.batchRows} for update skip locked)`
    return count
  })

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
