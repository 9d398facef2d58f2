import { openLog } from '../../src/logger.ts'
import { RpcClient, ConnectionLost } from '../../src/routing/rpc-client.ts'
import { RpcServer } from '../../src/routing/rpc-server.ts'
import type { RpcRequest, RpcResponse } from '../../src/routing/rpc.ts'
import { eventually } from '../races/pair.ts'
import { disposable } from '../support/service.ts'

export const secret = 'a secret that is long enough for this'
export const limits = { secrets: [secret], maxBytes: 2_097_152, maxUnsentBytes: 8_388_608, maxPending: 2_000 }
export const inTenSeconds = () => performance.now() + 10_000

export function memoryLog() {
  const lines: { msg: string; reason: string }[] = []
  const log = openLog('warn', null, { write: (line) => void lines.push(JSON.parse(line)) })
  return Object.assign(log, { lines })
}

export const reply = (body: string, etag: string | null = null): RpcResponse => ({
  kind: 'reply',
  status: 200,
  body,
  etag,
})
export const answering = (responseTo: (payload: unknown) => RpcResponse) => (requests: RpcRequest[]) => {
  for (const { respond, payload } of requests) respond(responseTo(payload))
}
export const echo = answering((payload) => reply(JSON.stringify(payload)))
export const echoInto = (served: unknown[]) => (requests: RpcRequest[]) => {
  served.push(...requests.map(({ payload }) => payload))
  echo(requests)
}

export type Pair = Awaited<ReturnType<typeof openPair>>

export async function openPair(
  serve: (requests: RpcRequest[]) => void = echo,
  options: {
    id?: string
    port?: number
    server?: Partial<typeof limits>
    client?: Partial<typeof limits>
  } = {},
) {
  const log = memoryLog()
  const { id = 'home-1' } = options
  const server = new RpcServer(id, { ...limits, ...options.server }, serve, log)
  const peer = await server.listen('127.0.0.1', options.port ?? 0)
  const client = new RpcClient({ ...limits, ...options.client }, log)
  const close = async () => {
    client.close()
    await server.close()
  }
  const call = (payload: unknown, deadline = inTenSeconds()) => client.call(peer, payload, deadline)
  const callAll = (payloads: unknown[]) => Promise.all(payloads.map((payload) => call(payload)))
  return disposable({ server, client, peer, log, call, callAll, close })
}

export const failureOf = (call: Promise<RpcResponse>): Promise<Error> =>
  call.then(
    (response) => Promise.reject(new Error(`unexpected response: ${JSON.stringify(response)}`)),
    (error: Error) => error,
  )

export async function lossOf(call: Promise<RpcResponse>): Promise<ConnectionLost> {
  const error = await failureOf(call)
  expect(error).toBeInstanceOf(ConnectionLost)
  return error as ConnectionLost
}

export const foreverMs = 600_000

export const until = (isTrue: () => boolean) => eventually(String(isTrue), isTrue)
