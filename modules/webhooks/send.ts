import packageJson from '../../package.json' with { type: 'json' }
import { newId, nowMs } from '../../src/ids.ts'
import { signedHeaders } from '../../src/outbound/signature.ts'
import type { Services } from '../../src/services.ts'
import { eventView, type ReadEvent } from '../events/schema.ts'
import { unreadableSecret } from './commands.ts'
import type { DeliveryRow } from './deliveries.ts'
import type { Webhook } from './schema.ts'

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
  const headers = signedHeaders(keys, id, body, Math.floor(Date.now() / 1000))
  return { ...headers, 'user-agent': `Docket/${packageJson.version}` }
}
