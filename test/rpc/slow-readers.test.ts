import { once } from 'node:events'
import { HttpError } from '../../src/responses/errors.ts'
import { ConnectionLost, RpcClient } from '../../src/routing/rpc-client.ts'
import { RpcServerConnection } from '../../src/routing/rpc-server.ts'
import { limits, memoryLog, openPair, reply, secret, inTenSeconds, until } from './pair.ts'
import { authorization, connectRaw, serveRaw, welcomeTo } from './raw.ts'

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
