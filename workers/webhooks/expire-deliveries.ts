import type { Sql } from '../../src/postgres/database.ts'
import { firstIdAt, nilId, nowMs } from '../../src/ids.ts'
import { type Pace, untilFewer } from '../pace.ts'

/** How long it is known what was sent. */
const keptMs = 30 * 86_400_000
/** Webhooks looked at in one statement. */
const lookRows = 500

/**
 * Recurring: removes what the next webhooks were sent more than 30 days ago, and all that one was sent that is gone.
 * Answers where it stopped; undefined at the end.
 */
export async function expireDeliveries(
  sql: Sql,
  pace: Pace,
  after = nilId,
  now = nowMs(),
): Promise<string | undefined> {
  const oldest = firstIdAt(now - keptMs)
  const seen = await sql<{ webhookId: string; isGone: boolean; hasOld: boolean }[]>`
    with recursive next as (
      (select webhook_id from webhook_deliveries where webhook_id > ${after} order by webhook_id limit 1)
      union all
      select (select d.webhook_id from webhook_deliveries d where d.webhook_id > next.webhook_id order by d.webhook_id limit 1)
      from next where next.webhook_id is not null),
    page as (select webhook_id from next where webhook_id is not null limit ${lookRows})
    select webhook_id, (select id from webhooks w where w.id = webhook_id) is null as is_gone,
      (select id < ${oldest}::uuid from webhook_deliveries d where d.webhook_id = page.webhook_id order by id limit 1) as has_old
    from page`
  for (const { webhookId, isGone, hasOld } of seen) {
    if (isGone || hasOld) await removeDeliveries(sql, [webhookId], pace, isGone ? undefined : oldest)
  }
  return seen.length === lookRows ? seen.at(-1)!.webhookId : undefined
}

/** Removes what webhooks were sent, or only what comes before an id. */
export const removeDeliveries = (sql: Sql, webhookIds: string[], pace: Pace, before?: string) =>
  untilFewer(pace, async () => {
    const { count } = await sql`
      delete from webhook_deliveries where (webhook_id, id) in (
        select webhook_id, id from webhook_deliveries
        where webhook_id = any(${webhookIds}::uuid[]) ${before ? sql`and id < ${before}::uuid` : sql``}
        order by webhook_id, id limit ${pace.batchRows} for update skip locked)`
    return count
  })
