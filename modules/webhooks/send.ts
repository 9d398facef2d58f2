import { randomUUID, createHmac, randomBytes } from 'node:crypto'
import packageJson from '../../package.json' with { type: 'json' }
import { openConcurrencyLimit } from '../../src/admission/fair-queue.ts'
import { accountCommand, inProject, type RouteRequest } from '../../src/commands/command.ts'
import { newId, nowMs } from '../../src/ids.ts'
import { retryOnce } from '../../src/postgres/errors.ts'
import type { Services } from '../../src/services.ts'
import { insertRecord } from '../accounts/queries.ts'
import { eventView, type ReadEvent } from '../events/schema.ts'
import { unreadableSecret, noWebhook } from './commands.ts'
import { type DeliveryRow, deliveryColumns, deliveryView, webhookAt } from './reads.ts'
import { type Webhook, WebhookId } from './schema.ts'

type Dependencies = Pick<Services, 'outbound' | 'encryption'>
export type Receiver = Pick<Webhook, 'id' | 'projectId' | 'url' | 'secret' | 'formerSecret' | 'formerUntil'>

type Message = Pick<DeliveryRow, 'deliveryId' | 'attempt'> & { events: ReadEvent[]; signal?: AbortSignal }

export async function send(
  dependencies: Dependencies,
  receiver: Receiver,
  { deliveryId, attempt, events, signal }: Message,
) {
  const { id: webhookId, projectId, url } = receiver
  const [first, last] = [events[0], events.at(-1)]
  const type: DeliveryRow['type'] = last ? 'events' : 'test'
  const data = { projectId, ...(!last && { webhookId }), events: events.map((event) => eventView.of(event)) }
  const body = JSON.stringify({ type, timestamp: last?.at ?? new Date().toISOString(), data })
  const request = { url, body, signal, headers: signed(dependencies, receiver, deliveryId, body) }
  const { status, error, answer, durationMs, retryAfterMs } = await dependencies.outbound.post(request)
  const row: DeliveryRow = {
    ...{ webhookId, id: newId(), deliveryId, type, attempt, status, error, durationMs },
    ...{ firstSeq: first?.seq ?? null, lastSeq: last?.seq ?? null, events: events.length },
    ...{ answer: answer.toWellFormed(), at: new Date(Date.now() - durationMs).toISOString() },
  }
  return { row, retryAfterMs }
}

const secretBytes = 32
const prefix = 'whsec_'

export const newSecret = (): string => prefix + randomBytes(secretBytes).toString('base64')

/** Returns headers according to Standard Webhooks, https://www.standardwebhooks.com. */
function signed(
  { encryption }: Dependencies,
  { secret, formerSecret, formerUntil }: Receiver,
  id: string,
  body: string,
) {
  const key = encryption.decrypt(secret)
  if (key === null) throw unreadableSecret()
  const previousKey = formerUntil && Date.parse(formerUntil) > nowMs() && encryption.decrypt(formerSecret!)
  const keys = previousKey ? [key, previousKey] : [key]
  const seconds = Math.floor(Date.now() / 1000)
  const sign = (secret: string) =>
    createHmac('sha256', Buffer.from(secret.slice(prefix.length), 'base64'))
      .update(`${id}.${seconds}.${body}`)
      .digest('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': keys.map((one) => `v1,${sign(one)}`).join(' '),
    'user-agent': `Docket/${packageJson.version}`,
  }
}

/** The web process sends the test, not a worker, because the caller waits for the result. */
export function testWebhook(services: Services) {
  const sql = services.database.background
  const limit = openConcurrencyLimit({ what: 'tests of webhooks', ofAll: 20, ofAccount: 4 })
  return accountCommand('webhook.test', {
    about:
      'Sends a test immediately, even to a disabled webhook: `{"type": "test", "timestamp": …, "data": {"projectId": …, "webhookId": …, "events": []}}`. The response shows the result, and the list of deliveries contains it.',
    input: WebhookId,
    target: inProject(),
    role: 'ADMIN',
    scope: 'admin',
    callers: undefined,
    begin: ({ caller }: RouteRequest<'caller'>, { projectId, webhookId }) => ({
      async execute(toRecord) {
        const webhook = await webhookAt(sql, { id: projectId, webhookId })
        const release = limit.acquire(caller.userId)
        try {
          const test = { deliveryId: randomUUID(), attempt: 1, events: [] }
          const { row } = await send(services, webhook, test)
          await retryOnce(
            () => sql`
              with done as (insert into webhook_deliveries
                select * from jsonb_to_record(${JSON.stringify(row)}::text::jsonb) as r(${deliveryColumns(sql)})
                on conflict do nothing returning id)
              ${insertRecord(sql, toRecord(row))}`,
          )
          return row
        } finally {
          release()
        }
      },
    }),
    view: { ...deliveryView, hasNoEtag: true },
    does: 'add',
    errors: [unreadableSecret(), noWebhook()],
  })
}
