import { once } from 'node:events'
import { WebSocket, WebSocketServer } from 'ws'
import {
  authenticate,
  authorizationHeader,
  createWelcome,
  channelKeys,
  newNonce,
} from '../../src/routing/rpc.ts'
import { secret } from './pair.ts'

export type Raw = ReturnType<typeof readRaw>

function readRaw(socket: WebSocket) {
  const messages: any[] = []
  let wake = () => {}
  socket.on('error', () => {})
  socket.on('message', (data) => {
    // Reads the first line of a response (JSON); the bodies follow on later lines.
    messages.push(JSON.parse(String(data).split('\n')[0]!))
    wake()
  })
  const next = async () => {
    while (messages.length === 0) await new Promise<void>((resolve) => (wake = resolve))
    return messages.shift()
  }
  return { socket, next }
}

export const authorization = (secrets: string[], serverId = 'home-1') =>
  authorizationHeader(channelKeys(secrets), serverId, newNonce())

/** The valid welcome of the process `id` to a client with this Authorization header. */
export function welcomeTo(header: string, id = 'home-1'): string {
  const [nonce, key] = authenticate(channelKeys([secret]), id, header)
  return JSON.stringify(createWelcome(key, id, nonce, performance.now()))
}

export async function connectRaw(port: number, header: string) {
  const options = { headers: { authorization: header }, perMessageDeflate: false }
  const raw = readRaw(new WebSocket(`ws://127.0.0.1:${port}`, options))
  await once(raw.socket, 'open')
  return raw
}

export async function serveRaw(act: (raw: Raw, authorization: string) => void) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  server.on('connection', (socket, request) => act(readRaw(socket), request.headers.authorization!))
  await once(server, 'listening')
  return { port: (server.address() as { port: number }).port, close: () => server.close() }
}
