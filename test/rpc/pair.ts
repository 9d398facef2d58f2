import { expect } from 'bun:test'
import { RpcServer } from '../../src/routing/rpc-server.ts'
import { RpcClient } from '../../src/routing/rpc-client.ts'
import {
  ConnectionLost,
  type RpcResponse,
  type RpcRequest,
  type Log,
  type Peer,
} from '../../src/routing/rpc.ts'
import { disposable } from '../support/service.ts'

export const secret = 'a secret that is long enough for this'
export const limits = { secrets: [secret], maxBytes: 2_097_152, maxUnsentBytes: 8_388_608, maxPending: 2_000 }
export const soon = () => performance.now() + 10_000

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

export const reply = (body: string, etag: string | null = null): RpcResponse => ({
  kind: 'reply',
  status: 200,
  body,
  etag,
})
export const echo = (asks: RpcRequest[]) => {
  for (const ask of asks) ask.respond(reply(JSON.stringify(ask.payload)))
}

export interface Pair extends AsyncDisposable {
  server: RpcServer
  client: RpcClient
  peer: Peer
  log: ReturnType<typeof listeningLog>
  close(): Promise<void>
}

/** A process that serves and one that asks, both in this one, over a real socket. */
export async function openPair(
  serve: (asks: RpcRequest[]) => void = echo,
  options: {
    id?: string
    port?: number
    server?: Partial<typeof limits>
    client?: Partial<typeof limits>
  } = {},
): Promise<Pair> {
  const log = listeningLog()
  const { id = 'home-1' } = options
  const server = new RpcServer(id, { ...limits, ...options.server }, serve, log)
  const peer = await server.listen('127.0.0.1', options.port ?? 0)
  const client = new RpcClient({ ...limits, ...options.client }, log)
  const close = async () => {
    client.close()
    await server.close()
  }
  return disposable({ server, client, peer, log, close })
}

export const failureOf = (answer: Promise<RpcResponse>): Promise<Error> =>
  answer.then(
    (got) => Promise.reject(new Error(`answered: ${JSON.stringify(got)}`)),
    (error: Error) => error,
  )

export async function lossOf(answer: Promise<RpcResponse>): Promise<ConnectionLost> {
  const error = await failureOf(answer)
  expect(error).toBeInstanceOf(ConnectionLost)
  return error as ConnectionLost
}

/** So long that a test which waits for it has failed. */
export const everMs = 600_000

export async function until(isTrue: () => boolean, withinMs = 30_000): Promise<void> {
  const end = performance.now() + withinMs
  while (!isTrue()) {
    if (performance.now() > end) throw new Error(`not true within ${withinMs} ms: ${isTrue}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
