import { randomUUID } from 'node:crypto'
import { openConcurrencyLimit } from '../../src/admission/concurrency-limit.ts'
import type { Draft, Keep } from '../../src/http/once.ts'
import { newId, nowMs } from '../../src/ids.ts'
import { patiently } from '../../src/postgres/errors.ts'
import type { Services } from '../../src/services.ts'
import { note } from '../accounts/queries.ts'
import { asColumns, deliveryColumns, deliveryRow } from './delivery-rows.ts'
import { deliveryView } from './delivery-view.ts'
import { testMessage } from './message.ts'
import { unreadable } from './errors.ts'
import type { Webhook } from './schema.ts'
import { openSend, UnreadableSecret } from './send.ts'

/** In progress in one process: each test may take as long as a receiver may. */
const tests = { what: 'tests of webhooks', ofAll: 20, ofAccount: 4 }

/** Sends a test and tells what came back. Not by the worker: who asks waits for the answer. */
export function openTesting(services: Services) {
  const sql = services.database.chores
  const send = openSend(services)
  const limit = openConcurrencyLimit(tests)
  return async (accountId: string, webhook: Webhook, keep: Keep): Promise<Draft> => {
    const release = limit.acquire(accountId)
    try {
      const deliveryId = randomUUID()
      const outcome = await send(current(webhook), deliveryId, testMessage(webhook.projectId, webhook.id))
      const nothing = { firstSeq: null, lastSeq: null, events: 0, attempt: 1 }
      const about = { webhookId: webhook.id, id: newId(), deliveryId, type: 'test', ...nothing } as const
      const row = deliveryRow(about, outcome)
      const draft = { status: 200, body: deliveryView.of(row) }
      await patiently(
        () => sql`
          with done as (insert into webhook_deliveries
            select * from jsonb_to_record(${JSON.stringify(asColumns(row))}::text::jsonb) as r(${deliveryColumns(sql)})
            on conflict do nothing returning id)
          ${note(sql, keep(draft))}`,
      )
      return draft
    } catch (error) {
      throw error instanceof UnreadableSecret ? unreadable() : error
    } finally {
      release()
    }
  }
}

/** As it signs now. */
const current = ({ formerSecret, formerUntil, ...webhook }: Webhook) => {
  return {
    ...webhook,
    formerSecret: formerUntil && Date.parse(formerUntil) > nowMs() ? formerSecret : null,
  }
}
