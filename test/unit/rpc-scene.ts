import { once } from 'node:events'
import type { Socket } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'
import { disposable, eventually, openLog } from '../kit.ts'
import { ConnectionLost, RpcClient } from '../../src/routing/rpc-client.ts'
import { RpcServer } from '../../src/routing/rpc-server.ts'
import type { RpcRequest, RpcResponse } from '../../src/routing/rpc.ts'
import { authenticate, authorizationHeader, channelKeys, createWelcome } from '../../src/routing/rpc.ts'
import { newNonce } from '../../src/routing/rpc.ts'
import { openTcpProxy } from '../support/tcp-proxy.ts'

export const secret = 'a secret that is long enough for this'
export const limits = { secrets: [secret], maxBytes: 2_097_152, maxUnsentBytes: 8_388_608, maxPending: 2_000 }
export const inTenSeconds = () => performance.now() + 10_000

export function memoryLog() {
  const lines: { msg: string; reason: string }[] = []
  const log = openLog('warn', null, { write: (line) => void lines.push(JSON.parse(line)) })
  return Object.assign(log, { lines })
}

export const reply = (body: string): RpcResponse => ({ kind: 'reply', status: 200, body, etag: null })
export const answering = (responseTo: (payload: unknown) => RpcResponse) => (requests: RpcRequest[]) => {
  for (const { respond, payload } of requests) respond(responseTo(payload))
}
export const echo = answering((payload) => reply(JSON.stringify(payload)))

export type Pair = Awaited<ReturnType<typeof openPair>>

/** Opens a client and a server, which stores the requests that it receives in `received`. */
export async function openPair(serve = echo, { id = 'home-1', server = {}, client = {} } = {}) {
  const log = memoryLog()
  const received: RpcRequest[] = []
  const serveAll = (requests: RpcRequest[]) => {
    received.push(...requests)
    serve(requests)
  }
  const rpcServer = new RpcServer(id, { ...limits, ...server }, serveAll, log)
  const peer = await rpcServer.listen('127.0.0.1', 0)
  const rpcClient = new RpcClient({ ...limits, ...client }, log)
  const close = async () => {
    rpcClient.close()
    await rpcServer.close()
  }
  const call = (payload: unknown, deadline = inTenSeconds()) => rpcClient.call(peer, payload, deadline)
  const callAll = (payloads: unknown[]) => Promise.all(payloads.map((payload) => call(payload)))
  const served = () => received.map(({ payload }) => payload)
  return disposable({
    ...{ server: rpcServer, client: rpcClient, peer, log, received, served, call, callAll, close },
  })
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

export const until = (isTrue: () => boolean) => eventually(String(isTrue), isTrue)

type Direction = 'requests' | 'responses'

/** Opens a proxy that breaks or delays the bytes of one direction. */
export async function openFaultyConnection(toPort: number) {
  const faults: Partial<Record<Direction, (chunk: Buffer, to: Socket) => void>> = {}
  const { port, cut, close } = await openTcpProxy(toPort, {
    intercept(chunk, to, { server }) {
      const fault = faults[to === server ? 'requests' : 'responses']
      fault?.(chunk, to)
      return fault !== undefined
    },
  })
  return {
    ...{ port, close },
    /** Breaks the connection after `bytes` more bytes in one direction. */
    cutAfter(bytes: number, direction: Direction) {
      let left = bytes
      faults[direction] = (chunk, to) => {
        const part = chunk.subarray(0, left)
        left -= part.length
        if (left > 0) return void to.write(part)
        delete faults[direction]
        to.end(part, cut)
      }
    },
    /** Delays all bytes in one direction, after the first `afterBytes`, until the returned function is called. */
    hold(direction: Direction, afterBytes = 0) {
      const held: [Buffer, Socket][] = []
      let left = afterBytes
      faults[direction] = (chunk, to) => {
        to.write(chunk.subarray(0, left))
        held.push([chunk.subarray(left), to])
        left -= Math.min(left, chunk.length)
      }
      return () => {
        delete faults[direction]
        for (const [chunk, to] of held) to.write(chunk)
      }
    },
  }
}

export type Raw = ReturnType<typeof readRaw>

function readRaw(socket: WebSocket) {
  const messages: unknown[][] = []
  socket.on('error', () => {})
  // The first line of a response is JSON; the bodies are on later lines.
  socket.on('message', (data) => void messages.push(JSON.parse(String(data).split('\n')[0]!)))
  /** Returns the next message, or undefined after the end of the connection. */
  const next = async () => {
    await until(() => messages.length > 0 || socket.readyState === socket.CLOSED)
    return messages.shift()
  }
  return { socket, next }
}

export const authorization = (ofClient: string, serverId = 'home-1') =>
  authorizationHeader(channelKeys([ofClient]), serverId, newNonce())

/** Returns the welcome message of a server, with changed parts. */
export function welcomeTo(header: string, id: string, changed: object = {}): string {
  const [nonce, key] = authenticate(channelKeys([secret]), id, header)
  return JSON.stringify({ ...createWelcome(key, id, nonce, performance.now()), ...changed })
}

/** Connects a client that does not follow the protocol by itself. */
export async function connectRaw(port: number, header = authorization(secret)) {
  const options = { headers: { authorization: header }, perMessageDeflate: false }
  const raw = readRaw(new WebSocket(`ws://127.0.0.1:${port}`, options))
  await once(raw.socket, 'open')
  return raw
}

/** Opens a server that does not follow the protocol by itself. */
export async function serveRaw(act: (raw: Raw, header: string, id: string) => void, id = 'home-1') {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  server.on('connection', (socket, request) => act(readRaw(socket), request.headers.authorization!, id))
  await once(server, 'listening')
  return { peer: { id, host: '127.0.0.1', port: (server.address() as { port: number }).port }, server }
}
