import type { Listener } from '../../src/channel/listener.ts'
import { openListener } from '../../src/channel/listener.ts'
import { openPeers, type Peers } from '../../src/channel/peers.ts'
import type { Answer, Ask, ListenerOptions, Log, Peer } from '../../src/channel/protocol.ts'

export const secret = 'a secret that is long enough for this'
export const limits = { secrets: [secret], frameBytes: 2_097_152, unsentBytes: 8_388_608, pendingAsks: 2_000 }
export const soon = () => performance.now() + 10_000

/** What the log was told. */
export interface Told {
  what: Record<string, unknown>
  message: string
}
export function listeningLog(): Log & { told: Told[] } {
  const told: Told[] = []
  const tell = (what: object, message: string) =>
    void told.push({ what: what as Record<string, unknown>, message })
  return { told, warn: tell, error: tell }
}

export const reply = (body: string, etag: string | null = null): Answer => ({
  kind: 'reply',
  status: 200,
  body,
  etag,
})
/** Answers the payload, in JSON. */
export const echo = (asks: Ask[]) => {
  for (const ask of asks) ask.answer(reply(JSON.stringify(ask.payload)))
}

export interface Pair {
  listener: Listener
  peers: Peers
  peer: Peer
  log: ReturnType<typeof listeningLog>
  close(): Promise<void>
}

/** A process that serves and one that asks, both in this one, over a real socket. */
export async function openPair(
  serve: (asks: Ask[]) => void = echo,
  options: { listener?: Partial<ListenerOptions>; asker?: Partial<typeof limits> } = {},
): Promise<Pair> {
  const log = listeningLog()
  const me = { me: 'home-1', host: '127.0.0.1', port: 0 }
  const listener = await openListener({ ...limits, ...me, ...options.listener }, serve, log)
  const peers = openPeers({ ...limits, ...options.asker }, log)
  const peer = { id: 'home-1', host: '127.0.0.1', port: listener.port }
  const close = async () => {
    await Promise.all([peers.close(), listener.close()])
  }
  return { listener, peers, peer, log, close }
}

/** What became of an ask that was not answered. */
export const failureOf = (answer: Promise<Answer>): Promise<Error> =>
  answer.then(
    (got) => Promise.reject(new Error(`answered: ${JSON.stringify(got)}`)),
    (error: Error) => error,
  )

/** So long that a test which waits for it has failed. */
export const everMs = 600_000

/** Waits until it is true, looking often. */
export async function until(isTrue: () => boolean, withinMs = 30_000): Promise<void> {
  const end = performance.now() + withinMs
  while (!isTrue()) {
    if (performance.now() > end) throw new Error(`not true within ${withinMs} ms: ${isTrue}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
