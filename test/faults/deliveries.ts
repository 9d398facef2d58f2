import { until } from '../../src/local/wait.ts'
import type { DeliveryEvidence } from './check-deliveries.ts'
import { digest } from './check-lists.ts'
import type { Deployment } from './deployment.ts'
import { type Violation, violationsOf } from './history.ts'
import type { RecordingClient } from './recording-client.ts'
import type { startWebhookClient } from './webhooks.ts'
import type { ProjectRef } from './world.ts'

const deliveryTimeoutMs = 90_000
const pageSize = 200

type WebhookClient = Awaited<ReturnType<typeof startWebhookClient>>

/** Lets all receivers accept every request, waits until all events are delivered, and reads the feeds. */
export async function finishDeliveries(
  { stop, webhooks, enable, retryNow }: WebhookClient,
  { receivers, postgres }: Deployment,
  client: RecordingClient,
) {
  await stop()
  receivers.behave('ok')
  const began = performance.now()
  const active = webhooks.all.filter((webhook) => webhook.created && !webhook.isDeleted)
  await Promise.all(active.map(enable))
  let lagging: { id: string }[] = []
  const areDelivered = async () => {
    const jobs = await postgres.query((sql) => sql`select from outbox limit 1`)
    lagging = await postgres.query(
      (sql) => sql<typeof lagging>`
        select w.id, w.url, w.cursor, s.version, w.failures, w.next_at, w.disabled_reason
        from webhooks w join streams s using (project_id) where w.cursor < s.version`,
    )
    if (lagging.length === 0) return jobs.length === 0 || undefined
    const ids = new Set(lagging.map(({ id }) => id))
    await Promise.all(active.filter((webhook) => ids.has(webhook.created!.id)).map(retryNow))
    return undefined
  }
  const isDone = await until(areDelivered, deliveryTimeoutMs, { everyMs: 300 })
  const deliveredMs = isDone && performance.now() - began
  const violations: Violation[] = [
    ...violationsOf('webhooks deliver every event in the end', isDone ? [] : [JSON.stringify(lagging)]),
    ...violationsOf('every delivery is signed', webhooks.errors),
  ]
  const projects = new Set(active.map(({ project }) => project).filter(({ isPermanent }) => isPermanent))
  const feeds = new Map<string, string[]>()
  for (const project of projects) feeds.set(project.id, await readFeed(client, project))
  const sent: DeliveryEvidence = { webhooks: webhooks.all, deliveries: receivers.deliveries, feeds }
  return { violations, deliveredMs, sent }
}

async function readFeed(client: RecordingClient, { id, owner }: ProjectRef): Promise<string[]> {
  const events: string[] = []
  for (;;) {
    const path = `/projects/${id}/events?after=${events.length}&limit=${pageSize}`
    const { status, text } = await client.sendUnrecorded({ method: 'GET', path, caller: owner })
    if (status !== 200) throw new Error(`GET ${path} returned ${status} ${text}`)
    const page = JSON.parse(text) as object[]
    events.push(...page.map((event) => digest(JSON.stringify(event))))
    if (page.length === 0) return events
  }
}
