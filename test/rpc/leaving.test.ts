import { type RpcRequest } from '../../src/routing/rpc.ts'
import { echo, foreverMs, openPair, type Pair, reply, inTenSeconds, until, lossOf } from './pair.ts'

let pair: Pair
afterEach(() => pair.close())

test('a leaving server serves requests in transit, and clients send no new requests', async () => {
  const received: RpcRequest[] = []
  pair = await openPair((requests) => void received.push(...requests))
  const { client, server } = pair
  const first = [1, 2].map((i) => pair.call(i))
  await until(() => received.length === 2)
  expect(client.isUsable('home-1')).toBe(true)
  let hasLeft = false
  const left = server.leave(foreverMs).then(() => (hasLeft = true))
  const crossing = pair.call(3)
  await until(() => !client.isUsable('home-1'))
  expect(await lossOf(pair.call(4))).toMatchObject({ sent: false })

  await until(() => received.length === 3)
  echo(received.slice(0, 1))
  expect(await first[0]).toEqual(reply('1'))
  expect(hasLeft).toBe(false)
  echo(received)
  expect(await Promise.all([first[1], crossing])).toEqual([reply('2'), reply('3')])
  await left
  expect(client.isUsable('home-1')).toBe(false)
})

test('rejects a client that connects after the goodbye', async () => {
  let served = 0
  pair = await openPair((requests) => void (served += requests.length))
  const { client, server } = pair
  await server.leave(foreverMs)
  expect(await lossOf(pair.call(1))).toMatchObject({ sent: false })
  expect(client.isUsable('home-1')).toBe(false)
  expect(served).toBe(0)
})

test('a leaving server waits for its clients until the time-out', async () => {
  let received = 0
  pair = await openPair((requests) => void (received += requests.length))
  const lost = lossOf(pair.call(1))
  await until(() => received === 1)
  const began = performance.now()
  await pair.server.leave(200)
  expect(performance.now() - began).toBeGreaterThan(190)
  await pair.server.close()
  expect((await lost).sent).toBe(true)
})

test('a restarted process at the same address counts as a new process', async () => {
  pair = await openPair()
  const { client, peer } = pair
  await pair.call(1)
  await pair.server.close()
  await until(() => !client.isUsable('home-1'))
  await using _next = await openPair(echo, { id: 'home-2', port: peer.port })

  expect(client.isUsable('home-2')).toBe(true)
  expect(await client.call({ ...peer, id: 'home-2' }, 2, inTenSeconds())).toEqual(reply('2'))
})
