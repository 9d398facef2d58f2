import type { Outcome } from '../../src/outbound/answer.ts'
import { signedHeaders } from '../../src/outbound/signature.ts'
import type { Services } from '../../src/services.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { eventView } from '../events/schema.ts'
import type { ReadEvent } from '../events/views.ts'

/** Where to send, and the encrypted secrets to sign with. */
export interface Receiver {
  url: string
  secret: string
  /** Signs too, until its time is over. */
  formerSecret: string | null
}

/** The webhook's secret was encrypted with another secret of the service. */
export class UnreadableSecret extends Error {}

type Means = Pick<Services, 'outbound' | 'sealing'>

/** Signs a message and sends it. @throws UnreadableSecret, or the reason of `signal` */
export async function send(
  { outbound, sealing }: Means,
  { url, secret, formerSecret }: Receiver,
  { id, body, signal }: { id: string; body: string; signal?: AbortSignal },
): Promise<Outcome> {
  const current = sealing.open(secret)
  if (current === null) throw new UnreadableSecret()
  const former = formerSecret && sealing.open(formerSecret)
  const secrets = former ? [current, former] : [current]
  const signed = signedHeaders(secrets, id, body, Math.floor(Date.now() / 1000))
  const headers = { ...signed, 'user-agent': `Docket/${packageJson.version}` }
  return outbound.post({ url, body, signal, headers })
}

/** The body that carries events: the same whenever it is sent again, but for the names of accounts. */
export const eventsMessage = (projectId: string, events: ReadEvent[]): string =>
  JSON.stringify({
    type: 'events',
    timestamp: events.at(-1)!.at,
    data: { projectId, events: events.map((event) => eventView.of(event)) },
  })

export const testMessage = (projectId: string, webhookId: string): string =>
  JSON.stringify({
    type: 'test',
    timestamp: new Date().toISOString(),
    data: { projectId, webhookId, events: [] },
  })
