import type { Kept } from '../../src/commit/idempotency.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { certainly } from '../../src/postgres/errors.ts'
import { note } from '../accounts/queries.ts'
import type { Webhook } from './queries.ts'

/** How a change touches what is being delivered. */
export interface Delivering {
  /** What is sent next is put together anew. */
  anew?: boolean
  /** The seq that it comes after from now on. */
  at?: number | null
  /** It is sent at once, and failures are forgotten. */
  atOnce?: boolean
}

/** Puts `after` in the place of what it was made from; false when that has changed. */
export async function replaceWebhook(
  sql: Sql,
  after: Webhook,
  { anew = false, at = null, atOnce = false }: Delivering,
  kept?: Kept,
): Promise<boolean> {
  const { id, url, types, maxEvents, secret, formerSecret, formerUntil, disabledAt, disabledReason } = after
  const replace = () => sql`
    with done as (update webhooks
      set revision = ${after.revision}::int4, url = ${url}, types = ${types?.join(' ') ?? null}::text, max_events = ${maxEvents}::int4,
        secret = ${secret}, former_secret = ${formerSecret}::text, former_until = ${formerUntil}::text::timestamptz,
        disabled_at = ${disabledAt}::text::timestamptz, disabled_reason = ${disabledReason}::text,
        cursor = coalesce(${at}::bigint, cursor),
        delivery_id = case when ${anew} then null else delivery_id end, head = case when ${anew} then null else head end,
        failures = case when ${atOnce} then 0 else failures end,
        failing_since = case when ${atOnce} then null else failing_since end,
        next_at = case when ${atOnce} then null else next_at end
      where id = ${id} and revision = ${after.revision - 1}::int4 returning id),
    noted as (${note(sql, kept)})
    select id from done`
  const stands = () => sql`
    select from webhooks where id = ${id} and revision = ${after.revision}::int4 and secret = ${secret} and url = ${url}`
  return certainly(
    async () => (await replace()).length === 1,
    async () => (await stands()).length === 1,
  )
}

/** Removes a webhook; false when there is no such one. What it was sent goes later. */
export async function deleteWebhook(sql: Sql, { id, revision }: Webhook, kept?: Kept): Promise<boolean> {
  const remove = () => sql`
    with done as (delete from webhooks where id = ${id} and revision = ${revision}::int4 returning id),
    noted as (${note(sql, kept)})
    select id from done`
  return certainly(
    async () => (await remove()).length === 1,
    async () => (await sql`select from webhooks where id = ${id}`).length === 0,
  )
}
