import { once } from 'node:events'
import { connect } from 'node:net'
import { openForEach, upTo } from '../kit.ts'
import { HttpError } from '../../src/responses/errors.ts'
import { ConnectionLost, RpcClient } from '../../src/routing/rpc-client.ts'
import { RpcServerConnection } from '../../src/routing/rpc-server.ts'
import { connectRaw, echo, inTenSeconds, limits, lossOf, memoryLog, openPair } from './rpc-scene.ts'
import { type Pair, openFaultyConnection, reply, serveRaw, until, welcomeTo } from './rpc-scene.ts'

const forEach = openForEach()
const open = (...given: Parameters<typeof openPair>) => forEach(openPair(...given))

async function openLine(pair: Pair) {
  const line = await forEach(openFaultyConnection(pair.peer.port))
  const peer = { ...pair.peer, port: line.port }
  const call = (payload: unknown, deadline = inTenSeconds()) => pair.client.call(peer, payload, deadline)
  return { ...line, peer, call }
}

test('marks calls as unsent if no process listens, or the server does not answer the handshake', async () => {
  const pair = await open()
  const closed = await openLine(pair)
  closed.close()
  expect(await lossOf(closed.call(1))).toMatchObject({ sent: false })
  const silent = await openLine(pair)
  silent.hold('requests')
  const call = pair.client.call({ ...silent.peer, id: 'silent' }, 1, inTenSeconds())
  // Both sides have the same time-out for a handshake, so either side may be the first to close the connection.
  const message = expect.stringMatching(/^(no handshake in time|the connection was closed)$/)
  expect(await lossOf(call)).toMatchObject({ sent: false, message })
  expect(pair.served()).toEqual([])
})

test('waits for a late response, but closes a silent connection before the deadline of its calls; then reconnects', async () => {
  const pair = await open(
    (requests) => void setTimeout(() => echo(requests), requests[0]!.payload === 1 ? 3_000 : 0),
  )
  const line = await openLine(pair)
  expect(await line.call(1)).toEqual(reply('1'))
  const release = line.hold('responses')
  expect(await lossOf(line.call(2))).toMatchObject({ sent: true, message: 'no heartbeat in time' })
  expect(pair.client.isUsable('home-1')).toBe(false)
  expect(await lossOf(line.call('too early'))).toMatchObject({ sent: false })
  release()
  await until(() => pair.client.isUsable('home-1'))
  expect(await line.call('again')).toEqual(reply('"again"'))
})

test('rejects a request that arrives after its deadline, and a call without a response after its deadline', async () => {
  const pair = await open((requests) => echo(requests.filter(({ payload }) => payload !== 'silent')))
  const line = await openLine(pair)
  await line.call('first')
  const release = line.hold('requests')
  const deadline = performance.now() + 200
  const responses = [line.call('short', deadline), line.call('long')]
  await until(() => performance.now() > deadline)
  release()
  const [late, inTime] = await Promise.all(responses)
  expect(late).toMatchObject({ status: 503, message: 'The write timed out. Nothing was written' })
  expect([inTime, pair.served()]).toEqual([reply('"long"'), ['first', 'long']])
  expect(await lossOf(pair.call('silent', performance.now() + 300))).toMatchObject({
    ...{ sent: true, message: 'no answer in time' },
  })
})

test('a closing server first sends the responses that it has, and its client then finds no server', async () => {
  const { client, server, received, call } = await open(() => {})
  const [answered, lost] = [call(1), lossOf(call(2))]
  await until(() => received.length === 2)
  echo(received.slice(0, 1))
  await server.close()
  expect(await answered).toEqual(reply('1'))
  expect(await lost).toMatchObject({ sent: true })
  expect(client.isUsable('home-1')).toBe(false)
  client.close()
  expect(await lossOf(call(3))).toMatchObject({ sent: false })
})

const maxUnsentBytes = 1_048_576
/** The maximum number of bytes that the kernel buffers for one loopback connection. */
const kernelBytes = 16_777_216

test('if a server reads no data, the client rejects requests with 503, then closes the connection', async () => {
  const { peer, server } = await serveRaw(({ socket }, header, id) => {
    socket.send(welcomeTo(header, id))
    socket.pause()
  })
  await forEach(server)
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
  const lost = errors.flatMap((error) => (error instanceof ConnectionLost ? error.message : []))
  expect([...new Set(lost)]).toEqual(['no heartbeat in time'])
  client.close()
})

test('a server stops reading requests of a client that reads no responses, and serves other clients', async () => {
  const [count, size] = [1_000, 65_536]
  const pair = await open(
    (requests) =>
      requests.forEach(({ payload, respond }) =>
        respond(reply(Array.isArray(payload) ? 'y'.repeat(size) : 'ok')),
      ),
    { server: { maxUnsentBytes } },
  )
  const { socket, next } = await connectRaw(pair.peer.port)
  await next()
  socket.pause()
  const padding = JSON.stringify(['x'.repeat(32_768)])
  for (let i = 0; i < count; i++) socket.send(`[${i},${Math.floor(inTenSeconds()) + 60_000},${padding}]`)
  let before = 0
  for (let unchanged = 0; unchanged < 5; unchanged = before === pair.received.length ? unchanged + 1 : 0) {
    before = pair.received.length
    await Bun.sleep(300)
  }
  expect(before * size).toBeLessThan(kernelBytes + maxUnsentBytes)
  expect(await pair.call('honest')).toEqual(reply('ok'))
  expect(pair.received).toHaveLength(before + 1)
  socket.resume()
  const answered = new Set<unknown>()
  while (answered.size < count) {
    const [, ...responses] = (await next())!
    for (let i = 0; i < responses.length; i += 3) answered.add(responses[i])
  }
  socket.terminate()
})

test('a server disconnects a client after 30 s without a message or heartbeat', async () => {
  let connection: RpcServerConnection | undefined
  const { peer, server } = await serveRaw(({ socket }) => {
    connection = new RpcServerConnection(socket, limits, () => {}, memoryLog())
  })
  await forEach(server)
  const { socket, next } = await connectRaw(peer.port)
  await until(() => connection !== undefined)
  const ticks = (count: number) => upTo(count).forEach(() => connection!.tick())
  ticks(299)
  socket.send('[0]')
  expect(await next()).toEqual([expect.any(Number)])
  ticks(300)
  expect(socket.readyState).toBe(socket.OPEN)
  ticks(1)
  await once(socket, 'close')
})

test('closes connections with invalid bytes or unfinished handshakes, and serves other clients meanwhile', async () => {
  const pair = await open()
  const begin = 'GET / HTTP/1.1\r\nHost: '
  const sent = [Buffer.alloc(5_000, 0xab), `${begin}home\r\n\r\n`, begin, begin + 'x'.repeat(100_000)]
  const all = [...sent, ...Array<string>(200).fill('')].map((bytes) => {
    const socket = connect(pair.peer.port, '127.0.0.1').on('error', () => {})
    if (bytes) socket.write(bytes)
    return new Promise<void>((resolve) => socket.resume().once('close', () => resolve()))
  })
  expect([await pair.call('honest'), pair.served()]).toEqual([reply('"honest"'), ['honest']])
  await Promise.all(all)
})

test('disconnects a client whose message is too large or not JSON', async () => {
  const pair = await open()
  for (const message of ['x'.repeat(2_097_153), '[', '{}', '7']) {
    const { socket } = await connectRaw(pair.peer.port)
    socket.send(message)
    socket.send('[0,99999999,"stolen"]')
    await once(socket, 'close')
  }
  expect([await pair.call('honest'), pair.served()]).toEqual([reply('"honest"'), ['honest']])
})
