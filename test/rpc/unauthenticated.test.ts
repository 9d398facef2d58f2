import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { echoInto, openPair, type Pair, reply, secret, inTenSeconds, until, lossOf } from './pair.ts'
import { authorization, connectRaw, type Raw, serveRaw, welcomeTo } from './raw.ts'

let pair: Pair
let served: unknown[]
beforeEach(async () => {
  served = []
  pair = await openPair(echoInto(served))
})
afterEach(() => pair.close())

const stolen = '[0,99999999,"stolen"]'
const honest = () => pair.call('honest')
const open = () => connect(pair.peer.port, '127.0.0.1').on('error', () => {})
const closed = (socket: Socket) => new Promise<void>((resolve) => socket.resume().once('close', resolve))

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

const invalidBytes: [string, string | Buffer][] = [
  ['garbage', Buffer.alloc(5_000, 0xab)],
  ['the previous protocol', Buffer.concat([Buffer.of(0, 0, 0, 43, 1), Buffer.from('docket\u0001')])],
  ['a request without an upgrade', 'GET / HTTP/1.1\r\nHost: home\r\n\r\n'],
  ['headers without end', `GET / HTTP/1.1\r\nHost: ${'x'.repeat(100_000)}`],
]
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
