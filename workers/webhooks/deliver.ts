import type { webhooks } from '../../drizzle/schema/webhooks.ts'
import { openEventPages, scanEnd } from '../../modules/events/rows.ts'
import { type DeliveryRow, deliveryColumns } from '../../modules/webhooks/reads.ts'
import { type Receiver, send } from '../../modules/webhooks/send.ts'
import type { EventType } from '../../src/model/entities.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { retryOnce } from '../../src/postgres/errors.ts'
import { grouped, inOrder } from '../../src/postgres/grouped.ts'
import { HttpError } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'

type Stored = typeof webhooks.$inferSelect
type Columns = keyof Receiver | 'revision' | 'maxEvents' | 'cursor' | 'failures'

/** A webhook and its next delivery. No other worker claims the webhook before the lease ends. */
interface Claim extends Pick<Stored, Columns> {
  types: EventType[] | null
  exceptActor: string | null
  deliveryId: string
  head: number
  failingMs: number
}

/** Longer than a delivery with its time-out, so that no lease must be renewed. A delivery that takes longer is aborted. */
export const leaseMs = 20_000

/** `upTo` is set after a success, `waitMs` after a failure, and the reason `disabled` after a permanent failure. */
export interface DeliveryResult {
  claim: Claim
  upTo?: number
  waitMs?: number
  disabled?: string | undefined
  attempt?: DeliveryRow
}

/** A result waits this long for other results, to share a statement. The wait delays only the webhook of the result. */
const lingerMs = 10

export const openClaims = (sql: Sql, workerId: string) => ({
  claim: grouped({ keys: 200, slots: 1 }, (ids: string[]) => claimWebhooks(sql, workerId, ids)),
  /** Returns true if the webhook has more events to deliver. */
  release: grouped({ keys: 200, slots: 2, lingerMs }, (results: DeliveryResult[]) =>
    releaseClaims(sql, workerId, results),
  ),
})

/** If the command to disable the webhook fails, the next attempt sends the command again after this time. */
const disableRetryMs = 60_000

/**
 * Ignores a result if another worker has the claim, or if the webhook has a new delivery id. Ignores a failure also if
 * the webhook has changed. Returns for each webhook whether it has more events to deliver.
 */
async function releaseClaims(sql: Sql, workerId: string, results: DeliveryResult[]): Promise<boolean[]> {
  const rows = results.map(({ claim: { id, deliveryId, revision }, upTo, waitMs, disabled }) => {
    return { id, deliveryId, revision, upTo, waitMs: disabled === undefined ? waitMs : disableRetryMs }
  })
  const attempts = results.flatMap(({ attempt = [] }) => attempt)
  const hasMore = await retryOnce(
    () => sql<{ id: string }[]>`
    with r as materialized (select * from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
      as r(id uuid, "deliveryId" uuid, revision int4, "upTo" bigint, "waitMs" int4)),
    ended as (
      update webhooks w set lease_by = null, lease_until = null, ${outcome(sql)} from r, streams s
      where w.id = r.id and w.lease_by = ${workerId} and s.project_id = w.project_id
      returning w.id, coalesce(r."upTo", r."waitMs") is not null as was_tried,
        w.disabled_at is null and w.next_at is null and w.cursor < s.version as has_more),
    recorded as (
      insert into webhook_deliveries
      select a.* from jsonb_to_recordset(${JSON.stringify(attempts)}::text::jsonb) as a(${deliveryColumns(sql)})
      where exists (select from webhooks w where w.id = a."webhookId") on conflict do nothing)
    select id from ended where was_tried and has_more`,
  )
  const more = new Set(hasMore.map(({ id }) => id))
  return results.map(({ claim: { id } }) => more.has(id))
}

/** SQL for all new values in one `update`: after a wait for a lock, Postgres computes them from the newest row. */
const outcome = (sql: Sql) => sql`
  cursor = case when ${isDelivered(sql)} then r."upTo" else w.cursor end,
  delivery_id = case when ${isDelivered(sql)} then null else w.delivery_id end,
  head = case when ${isDelivered(sql)} then null else w.head end,
  failures = case when ${isDelivered(sql)} then 0 when ${hasFailed(sql)} then w.failures + 1 else w.failures end,
  failing_since = case when ${isDelivered(sql)} then null when ${hasFailed(sql)} then coalesce(w.failing_since, now())
    else w.failing_since end,
  next_at = case when ${hasFailed(sql)} then now() + r."waitMs" * interval '1 ms' end`

const isDelivered = (sql: Sql) => sql`(w.delivery_id = r."deliveryId" and r."upTo" is not null)`
/** A failure counts only if the webhook has not changed since the attempt. Each change raises `revision`. */
const hasFailed = (sql: Sql) => sql`(w.delivery_id = r."deliveryId" and w.revision = r.revision
  and r."waitMs" is not null)`

/** A retried delivery has the same id and events, so that the receiver recognizes it. */
async function claimWebhooks(sql: Sql, workerId: string, ids: string[]): Promise<(Claim | undefined)[]> {
  const claims = await sql<Claim[]>`
    with due as (
      select w.id, s.version from webhooks w join streams s on s.project_id = w.project_id
      where w.id = any(${ids}::uuid[]) and ${isDue(sql)} and exists (select from projects p where p.id = w.project_id)
      order by w.id for update of w skip locked)
    update webhooks w set lease_by = ${workerId}, lease_until = now() + ${leaseMs}::int4 * interval '1 ms',
      delivery_id = coalesce(w.delivery_id, gen_random_uuid()), head = coalesce(w.head, due.version)
    from due where w.id = due.id
    returning w.id, w.project_id, w.revision, w.url, string_to_array(w.types, ' ') as types, w.max_events, w.except_actor_id as except_actor, w.secret,
      w.former_secret, w.former_until, w.cursor::float8 as cursor, w.failures, w.delivery_id, w.head::float8 as head,
      coalesce(extract(epoch from now() - w.failing_since) * 1000, 0)::float8 as failing_ms`
  return inOrder(ids, claims, ({ id }) => id)
}

/** SQL: true if webhook `w` of stream `s` has events to deliver now, and no worker has claimed the webhook. */
export const isDue = (sql: Sql) => sql`
  w.disabled_at is null and s.version > w.cursor
  and (w.next_at is null or w.next_at <= now()) and (w.lease_until is null or w.lease_until < now())`

export function openDeliver(services: Services) {
  const pageOf = openEventPages(services)
  const { log } = services

  async function attempt(claim: Claim, signal: AbortSignal): Promise<DeliveryResult> {
    const { projectId, head, cursor: after, maxEvents: limit, types, exceptActor } = claim
    const range = { projectId, after, upTo: scanEnd(after, head), limit, types, exceptActor }
    const { events, upTo } = await pageOf(range)
    if (events.length === 0) return { claim, upTo }
    const { deliveryId } = claim
    const failures = claim.failures + 1
    const message = { deliveryId, attempt: failures, events, signal }
    const { row, retryAfterMs } = await send(services, claim, message)
    const { status } = row
    if (status !== null && status >= 200 && status < 300) return { claim, upTo, attempt: row }
    return { claim, attempt: row, ...afterFailure({ ...claim, failures, status, retryAfterMs }) }
  }

  return (claim: Claim, signal: AbortSignal): Promise<DeliveryResult> =>
    attempt(claim, signal).catch((error: unknown) => {
      const disabled = permanentFailure(error)
      if (disabled === undefined)
        log.debug({ webhook: claim.id, reason: String(error) }, 'webhook claim released without a result')
      return { claim, disabled }
    })
}

/** The reason why no further attempt can succeed: the secret is unreadable, or the next events have expired. */
function permanentFailure(error: unknown): string | undefined {
  if (!(error instanceof HttpError)) return undefined
  if (error.status === 409) return error.message
  // If delivery continued with the remaining events, the receiver would not notice the loss.
  return error.status === 410 ? `${error.message}: replay from a later event` : undefined
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The waits after the first failure, the second failure, and so on. The last wait repeats. */
const waitsMs = [5_000, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs]
/** A random part up to 10 % separates the retries of webhooks that failed together. */
const jitter = 0.1
const giveUpAfterMs = 5 * 24 * hourMs

/** `failures` and `failingMs` count from the first failure after the last success. */
interface Failure {
  failures: number
  failingMs: number
  status: number | null
  retryAfterMs: number | null
}

export function afterFailure(
  { failures, failingMs, status, retryAfterMs }: Failure,
  random = Math.random(),
): { waitMs: number } | { disabled: string } {
  if (status === 410) return { disabled: 'The receiver answered 410 Gone' }
  if (failingMs >= giveUpAfterMs) return { disabled: 'All attempts of 5 days failed' }
  const longest = waitsMs.at(-1)!
  const waitMs = (waitsMs[failures - 1] ?? longest) * (1 + jitter * random)
  const requestedMs = Math.min(retryAfterMs ?? 0, longest)
  // The last attempt is at the latest `giveUpAfterMs` after the first failure.
  return { waitMs: Math.round(Math.min(Math.max(waitMs, requestedMs), giveUpAfterMs - failingMs)) }
}
