import { randomUUID } from 'node:crypto'
import { openConcurrencyLimit } from '../../src/admission/concurrency-limit.ts'
import { accountCommand, inProject } from '../../src/commands/command.ts'
import type { RouteRequest } from '../../src/commands/route-request.ts'
import { retryOnce } from '../../src/postgres/retries.ts'
import type { Services } from '../../src/services.ts'
import { insertRecord } from '../accounts/queries.ts'
import { deliveryColumns, deliveryView } from './deliveries.ts'
import { webhookAt } from './reads.ts'
import { noWebhook, unreadableSecret } from './commands.ts'
import { WebhookId } from './schema.ts'
import { send } from './send.ts'

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
    replyDescription: 'The result of the test',
    does: 'add',
    errors: [unreadableSecret(), noWebhook()],
  })
}
