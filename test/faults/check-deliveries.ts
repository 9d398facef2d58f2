import { digest } from './check-lists.ts'
import { type Evidence, eventJson, type LogEvent } from './evidence.ts'
import type { Delivery } from './receivers.ts'
import type { Webhook } from './webhooks.ts'

export interface DeliveryEvidence {
  webhooks: Webhook[]
  deliveries: Delivery[]
  feeds: Map<string, string[]>
}

/**
 * Checks that each webhook delivered exactly the events since its creation, as the feed shows them; that no event was
 * sent before all earlier events were accepted; and that a retry has the same body.
 */
export function checkDeliveries(
  { webhooks, deliveries, feeds }: DeliveryEvidence,
  { events, people }: Evidence,
): string[] {
  const histories = Map.groupBy(events, ({ projectId }) => projectId)
  const byPath = Map.groupBy(deliveries, ({ path }) => path)
  const digests = new Map<string, string>()
  const digestOf = (event: LogEvent) => {
    const text = digests.get(event.id) ?? digest(eventJson(event, people))
    digests.set(event.id, text)
    return text
  }
  const errors = [...feeds].flatMap(([projectId, feed]) => {
    const history = histories.get(projectId) ?? []
    const at = history.findIndex((event, i) => digestOf(event) !== feed[i])
    if (at < 0 && feed.length === history.length) return []
    if (at === feed.length) return [`the feed of ${projectId} has only ${at} of ${history.length} events`]
    return [`the feed of ${projectId} differs from the log at event ${at < 0 ? history.length + 1 : at + 1}`]
  })
  for (const webhook of webhooks) {
    if (!webhook.created) continue
    const history = histories.get(webhook.project.id) ?? []
    const own = byPath.get(webhook.path) ?? []
    const found = [...contentErrors(own, history, digestOf), ...orderErrors(webhook, own, history)]
    errors.push(...found.map((text) => `webhook ${webhook.created!.id} (${webhook.path}) ${text}`))
  }
  return errors
}

function contentErrors(
  deliveries: Delivery[],
  history: LogEvent[],
  digestOf: (event: LogEvent) => string,
): string[] {
  const bodies = new Map<string, string>()
  return deliveries.flatMap(({ id, body, seqs, events }) => {
    const first = bodies.get(id) ?? body
    bodies.set(id, first)
    const other = seqs.find((seq, i) => !history[seq - 1] || digestOf(history[seq - 1]!) !== events[i])
    return [
      ...(first === body ? [] : [`was sent ${id} again with a different body`]),
      ...(other === undefined ? [] : [`was sent an event ${other} that differs from the log`]),
    ]
  })
}

function orderErrors(webhook: Webhook, deliveries: Delivery[], history: LogEvent[]): string[] {
  const { created, types, isDeleted } = webhook
  const wanted = history
    .filter(({ seq, type }) => seq > created!.after && (!types || types.includes(type)))
    .map(({ seq }) => seq)
  const indexOf = new Map(wanted.map((seq, i) => [seq, i]))
  const accepted = deliveries.filter((one) => one.accepted).sort((a, b) => a.accepted! - b.accepted!)
  const errors: string[] = []
  let [done, next] = [0, 0]
  const acceptUntil = (step: number) => {
    for (; next < accepted.length && accepted[next]!.accepted! < step; next++)
      done = Math.max(done, (indexOf.get(accepted[next]!.seqs.at(-1)!) ?? -1) + 1)
  }
  for (const { received, seqs } of deliveries) {
    acceptUntil(received)
    const first = indexOf.get(seqs[0]!)
    const isContiguous = first !== undefined && seqs.every((seq, i) => seq === wanted[first + i])
    if (!isContiguous)
      errors.push(`was sent the events ${seqs.join()}, which are not consecutive among its events`)
    else if (first > done) errors.push(`was sent event ${seqs[0]} before event ${wanted[done]} was accepted`)
  }
  acceptUntil(Infinity)
  if (isDeleted || history.at(-1)?.type === 'project.deleted') return errors
  const left = wanted.slice(done)
  if (left.length > 0) errors.push(`was never sent event ${left[0]} and ${left.length - 1} later events`)
  return [...errors, ...replayErrors(webhook, deliveries, wanted)]
}

function replayErrors({ replays }: Webhook, deliveries: Delivery[], wanted: number[]): string[] {
  const last = replays.at(-1)
  const first = last && wanted.find((seq) => seq > last.after)
  if (!first || deliveries.some(({ received, seqs }) => received > last.since && seqs[0] === first)) return []
  return [`was not sent the events after ${last.after} again after a replay`]
}
