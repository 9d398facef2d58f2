import { randomUUID } from 'node:crypto'
import { openConcurrencyLimit } from '../../src/admission/concurrency-limit.ts'
import { accountCommand, inProject } from '../../src/commands/command.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { newId, nowMs } from '../../src/ids.ts'
import { patiently } from '../../src/postgres/errors.ts'
import type { Services } from '../../src/services.ts'
import { note } from '../accounts/queries.ts'
import { deliveryColumns, deliveryRow, deliveryView } from './deliveries.ts'
import { webhookAt } from './reads.ts'
import { noWebhook, unreadable } from './commands.ts'
import { type Webhook, WebhookId } from './schema.ts'
import { send, testMessage, UnreadableSecret } from './send.ts'

/** In progress in one process: each test may take as long as a receiver may. */
const tests = { what: 'tests of webhooks', ofAll: 20, ofAccount: 4 }

/** Sends a test and answers with what came back. Not by the worker: the caller waits for the answer. */
export function testWebhook(services: Services) {
  const sql = services.database.chores
  const limit = openConcurrencyLimit(tests)
  return accountCommand('webhook.test', {
    about:
      'At once, whether it is enabled or not: `{"type": "test", "timestamp": …, "data": {"projectId": …, "webhookId": …, "events": []}}`. The answer says what came back; so do the deliveries.',
    input: WebhookId,
    at: inProject(),
    least: 'ADMIN',
    scope: 'admin',
    callers: undefined,
    begin: ({ caller }: { caller: Caller }, { projectId, webhookId }) => ({
      async execute(keep) {
        const webhook = await webhookAt(sql, { id: projectId, webhookId })
        const release = limit.acquire(caller.userId)
        try {
          const row = await sendTest(services, webhook)
          await patiently(
            () => sql`
              with done as (insert into webhook_deliveries
                select * from jsonb_to_record(${JSON.stringify(row)}::text::jsonb) as r(${deliveryColumns(sql)})
                on conflict do nothing returning id)
              ${note(sql, keep(row))}`,
          )
          return row
        } finally {
          release()
        }
      },
    }),
    shows: { ...deliveryView, untagged: true },
    done: 'Sent: what came back',
    does: 'add',
    refuses: [unreadable(), noWebhook()],
  })
}

/** The attempt, for the list of deliveries. @throws Refusal 409 for a secret that cannot be read any more */
async function sendTest(services: Services, webhook: Webhook) {
  const id = randomUUID()
  const body = testMessage(webhook.projectId, webhook.id)
  const outcome = await send(services, current(webhook), { id, body }).catch((error: unknown) => {
    throw error instanceof UnreadableSecret ? unreadable() : error
  })
  const nothing = { firstSeq: null, lastSeq: null, events: 0, attempt: 1 }
  return deliveryRow(
    { webhookId: webhook.id, id: newId(), deliveryId: id, type: 'test', ...nothing },
    outcome,
  )
}

/** The webhook with the secrets that sign now. */
const current = ({ formerSecret, formerUntil, ...webhook }: Webhook) => {
  return { ...webhook, formerSecret: formerUntil && Date.parse(formerUntil) > nowMs() ? formerSecret : null }
}
