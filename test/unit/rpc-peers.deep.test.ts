import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'
import { HttpError } from '../../src/responses/errors.ts'
import { ConnectionLost, RpcClient } from '../../src/routing/rpc-client.ts'
import { RpcServerConnection } from '../../src/routing/rpc-server.ts'
import { echoInto, inTenSeconds, limits, lossOf, memoryLog, openPair, reply, secret } from './rpc-pair.ts'
import { until } from './rpc-pair.ts'
import type { Pair } from './rpc-pair.ts'
import { authenticate, authorizationHeader, channelKeys, createWelcome } from '../../src/routing/rpc.ts'
import { newNonce } from '../../src/routing/rpc.ts'

type Raw = ReturnType<typeof readRaw>

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

const authorization = (secrets: string[], serverId = 'home-1') =>
  authorizationHeader(channelKeys(secrets), serverId, newNonce())

/** The valid welcome of the process `id` to a client with this Authorization header. */
function welcomeTo(header: string, id = 'home-1'): string {
  const [nonce, key] = authenticate(channelKeys([secret]), id, header)
  return JSON.stringify(createWelcome(key, id, nonce, performance.now()))
}

async function connectRaw(port: number, header: string) {
  const options = { headers: { authorization: header }, perMessageDeflate: false }
  const raw = readRaw(new WebSocket(`ws://127.0.0.1:${port}`, options))
  await once(raw.socket, 'open')
  return raw
}

async function serveRaw(act: (raw: Raw, authorization: string) => void) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  server.on('connection', (socket, request) => act(readRaw(socket), request.headers.authorization!))
  await once(server, 'listening')
  return { port: (server.address() as { port: number }).port, close: () => server.close() }
}

const maxUnsentBytes = 1_048_576
/** The maximum number of bytes that the kernel buffers for one loopback connection. */
const kernelBytes = 16_777_216

test('if a server reads no data, the client rejects requests with 503, then closes the connection', async () => {
  const server = await serveRaw(({ socket }, header) => {
    socket.send(welcomeTo(header))
    socket.pause()
  })
  const peer = { id: 'home-1', host: '127.0.0.1', port: server.port }
  const client = new RpcClient({ ...limits, maxUnsentBytes, maxPending: 100_000 }, memoryLog())
  const payload = 'x'.repeat(65_536)
  const errors: Error[] = []
  let called = 0
  const rejected = () => errors.find((error) => error instanceof HttpError)
  while (!rejected() && called * payload.length < 4 * kernelBytes) {
    called++
    void client.call(peer, payload, inTenSeconds()).catch((error: Error) => void errors.push(error))
    if (called % 8 === 0) await new Promise((resolve) => setImmediate(resolve))
    await Promise.resolve()
  }
  expect((rejected() as HttpError | undefined)?.status).toBe(503)
  expect(called * payload.length).toBeLessThan(kernelBytes + maxUnsentBytes)
  await until(() => errors.length === called)
  const lost = errors.filter((error) => error instanceof ConnectionLost)
  expect(lost.length).toBeGreaterThan(0)
  expect(new Set(lost.map(({ message }) => message))).toEqual(new Set(['no heartbeat in time']))
  client.close()
  server.close()
})

test('a server stops reading requests of a client that reads no responses, and serves other clients', async () => {
  const count = 1_000
  const size = 65_536
  let served = 0
  await using pair = await openPair(
    (requests) =>
      requests.forEach(({ payload, respond }) => {
        if (Array.isArray(payload)) served++
        respond(reply(Array.isArray(payload) ? 'y'.repeat(size) : 'ok'))
      }),
    { server: { maxUnsentBytes } },
  )
  const { socket, next } = await connectRaw(pair.peer.port, authorization([secret]))
  await next()
  socket.pause()
  const padding = JSON.stringify(['x'.repeat(32_768)])
  for (let i = 0; i < count; i++) socket.send(`[${i},${Math.floor(inTenSeconds()) + 60_000},${padding}]`)
  let before = served
  for (let unchanged = 0; unchanged < 5; unchanged = before === served ? unchanged + 1 : 0) {
    before = served
    await Bun.sleep(300)
  }
  expect(served * size).toBeLessThan(kernelBytes + maxUnsentBytes)
  expect(await pair.call('honest')).toEqual(reply('ok'))
  expect(served).toBe(before)

  socket.resume()
  const received = new Set<number>()
  while (received.size < count) {
    const [, ...responses] = await next()
    for (let i = 0; i < responses.length; i += 3) {
      expect(responses[i + 1]).toBe(size)
      received.add(responses[i])
    }
  }
  socket.terminate()
})

test('a server disconnects a client after 30 s without a message or heartbeat', async () => {
  let connection: RpcServerConnection | undefined
  const server = await serveRaw(({ socket }) => {
    connection = new RpcServerConnection(socket, limits, () => {}, memoryLog())
  })
  const { socket, next } = await connectRaw(server.port, 'not checked here')
  await until(() => connection !== undefined)
  const ticks = (count: number) => Array.from({ length: count }).forEach(() => connection!.tick())
  ticks(299)
  socket.send('[0]')
  expect(await next()).toEqual([expect.any(Number)])
  ticks(300)
  expect(socket.readyState).toBe(socket.OPEN)
  ticks(1)
  await once(socket, 'close')
  server.close()
})

test('a client keeps an idle connection until a heartbeat gets no response', async () => {
  const closed = Promise.withResolvers<number>()
  const server = await serveRaw(({ socket }, header) => {
    socket.send(welcomeTo(header))
    let heartbeats = 0
    socket.on('message', (data) => {
      if (String(data) === '[0]' && ++heartbeats <= 6) socket.send(`[${performance.now()}]\n`)
    })
    socket.on('close', () => closed.resolve(heartbeats))
  })
  const log = memoryLog()
  const client = new RpcClient(limits, log)
  void client.call({ id: 'home-1', host: '127.0.0.1', port: server.port }, 1, inTenSeconds()).catch(() => {})
  expect(await closed.promise).toBeGreaterThan(6)
  expect(log.lines.map(({ reason }) => reason)).toEqual(['no heartbeat in time'])
  client.close()
  server.close()
})

let pair: Pair
let served: unknown[]

const stolen = '[0,99999999,"stolen"]'
const honest = () => pair.call('honest')
const open = () => connect(pair.peer.port, '127.0.0.1').on('error', () => {})
const closed = (socket: Socket) => new Promise<void>((resolve) => socket.resume().once('close', resolve))

const invalidBytes: [string, string | Buffer][] = [
  ['garbage', Buffer.alloc(5_000, 0xab)],
  ['the previous protocol', Buffer.concat([Buffer.of(0, 0, 0, 43, 1), Buffer.from('docket\u0001')])],
  ['a request without an upgrade', 'GET / HTTP/1.1\r\nHost: home\r\n\r\n'],
  ['headers without end', `GET / HTTP/1.1\r\nHost: ${'x'.repeat(100_000)}`],
]

let count = 0
async function callOf(act: (raw: Raw, header: string, id: string) => void): Promise<[string, boolean]> {
  const id = `played-${++count}`
  const server = await serveRaw((raw, header) => act(raw, header, id))
  const { message, sent } = await lossOf(
    pair.client.call({ ...pair.peer, id, port: server.port }, 'secret', inTenSeconds()),
  )
  server.close()
  return [message, sent]
}

describe('unauthenticated.deep', () => {
  beforeEach(async () => {
    served = []
    pair = await openPair(echoInto(served))
  })

  afterEach(() => pair.close())

  test('rejects a client without a valid proof with 401', async () => {
    const other = authorization(['another secret, just as long as it'])
    for (const header of [other, authorization([secret], 'home-2'), 'docket x 1 y', 'Bearer x'])
      expect(await connectRaw(pair.peer.port, header).catch((error) => error.message)).toContain('401')
    expect(await honest()).toEqual(reply('"honest"'))
    expect(served).toEqual(['honest'])
    expect(pair.log.lines[0]!.msg).toBe('rejected an unauthenticated peer')
  })

  test('accepts each proof only once', async () => {
    const header = authorization([secret])
    const first = await connectRaw(pair.peer.port, header)
    expect(await first.next()).toHaveProperty('proof')
    const again = await connectRaw(pair.peer.port, header).catch((error) => error.message)
    expect(again).toContain('401')
    first.socket.terminate()
  })

  for (const [what, bytes] of invalidBytes)
    test(`closes a connection that sends ${what}, and serves other clients`, async () => {
      const socket = open()
      socket.write(bytes)
      await closed(socket)
      expect(await honest()).toEqual(reply('"honest"'))
      expect(served).toEqual(['honest'])
    })

  test('closes connections that do not finish the handshake, and serves other clients meanwhile', async () => {
    const silent = Array.from({ length: 200 }, open)
    const half = open()
    half.write('GET / HTTP/1.1\r\nHost: ')
    const drip = setInterval(() => half.write('x'), 100)
    expect(await honest()).toEqual(reply('"honest"'))
    await Promise.all([...silent, half].map(closed))
    clearInterval(drip)
  })

  test('disconnects a client whose message is too large or not JSON', async () => {
    for (const message of ['x'.repeat(2_097_153), '[', '{}', '7']) {
      const { socket } = await connectRaw(pair.peer.port, authorization([secret]))
      socket.send(message)
      socket.send(stolen)
      await once(socket, 'close')
    }
    expect(await honest()).toEqual(reply('"honest"'))
    expect(served).toEqual(['honest'])
  })

  test('sends requests only to a server with a valid proof', async () => {
    const requests: unknown[] = []
    const valid = await callOf(async ({ socket, next }, header, id) => {
      socket.send(welcomeTo(header, id))
      requests.push((await next())[2])
      socket.terminate()
    })
    expect([valid[1], requests]).toEqual([true, ['secret']])
    const message = 'another process answers at this address'
    expect(await callOf(({ socket }) => socket.send('{}'))).toEqual([message, false])
    expect(await callOf(({ socket }) => socket.send('[0,0,0,{"kind":"failed"}]'))).toEqual([message, false])
    const withoutKey = callOf(({ socket }, header) => socket.send(JSON.stringify({ proof: header })))
    expect(await withoutKey).toEqual([message, false])
  })

  test('closes the connection to a server with the previous protocol immediately', async () => {
    let began = 0
    const server = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: { open: () => void (began = performance.now()), data: (socket) => void socket.end() },
    })
    const { sent } = await lossOf(
      pair.client.call({ ...pair.peer, id: 'old', port: server.port }, 1, inTenSeconds()),
    )
    expect([sent, began > 0]).toEqual([false, true])
    await until(() => !pair.client.isUsable('old'))
    server.stop(true)
  })
})
