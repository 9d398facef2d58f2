import type { Outcome } from '../../src/outbound/answer.ts'
import { signedHeaders } from '../../src/outbound/signature.ts'
import type { Services } from '../../src/services.ts'
import packageJson from '../../package.json' with { type: 'json' }

/** Where to send, and the sealed secrets to sign with. */
export interface Receiver {
  url: string
  secret: string
  /** Signs too, until its time is over. */
  formerSecret: string | null
}

/** What is sealed was sealed with another secret of the service. */
export class UnreadableSecret extends Error {}

export type Send = ReturnType<typeof openSend>

/** Signs a message and sends it. @throws UnreadableSecret, or what `signal` says */
export const openSend =
  ({ outbound, sealing }: Pick<Services, 'outbound' | 'sealing'>) =>
  async (
    { url, secret, formerSecret }: Receiver,
    id: string,
    body: string,
    signal?: AbortSignal,
  ): Promise<Outcome> => {
    const current = sealing.open(secret)
    if (current === null) throw new UnreadableSecret()
    const former = formerSecret === null ? null : sealing.open(formerSecret)
    const secrets = former === null ? [current] : [current, former]
    const signed = signedHeaders(secrets, id, body, Math.floor(Date.now() / 1000))
    return outbound.post({
      url,
      body,
      signal,
      headers: { ...signed, 'user-agent': `Docket/${packageJson.version}` },
    })
  }
