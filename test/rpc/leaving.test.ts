import { afterEach, expect, test } from 'bun:test'
import { type RpcRequest } from '../../src/routing/rpc.ts'
import { echo, everMs, openPair, type Pair, reply, soon, until, lossOf } from './pair.ts'

let pair: Pair
afterEach(() => pair.close())

test('answers requests that cross the goodbye, and sends no new ones', async () => {
  const kept: RpcRequest[] = []
  pair = await openPair((asks) => void kept.push(...asks))
  const { client, peer, server } = pair
  const first = [1, 2].map((i) => client.call(peer, i, soon()))
  await until(() => kept.length === 2)
  expect(client.isUsable('home-1')).toBe(true)
  let hasLeft = false
  // The third call crosses the goodbye.
  const left = server.leave(everMs).then(() => (hasLeft = true))
  const crossing = client.call(peer, 3, soon())
  await until(() => !client.isUsable('home-1'))
  expect(await lossOf(client.call(peer, 4, soon()))).toMatchObject({ sent: false })

  await until(() => kept.length === 3)
  echo(kept.slice(0, 1))
  expect(await first[0]).toEqual(reply('1'))
  expect(hasLeft).toBe(false)
  echo(kept)
  expect(await Promise.all([first[1], crossing])).toEqual([reply('2'), reply('3')])
  await left
  expect(client.isUsable('home-1')).toBe(false)
})

test('rejects a client that connects after the goodbye', async () => {
  let served = 0
  pair = await openPair((asks) => void (served += asks.length))
  const { client, peer, server } = pair
  await server.leave(everMs)
  expect(await lossOf(client.call(peer, 1, soon()))).toMatchObject({ sent: false })
  expect(client.isUsable('home-1')).toBe(false)
  expect(served).toBe(0)
})

test('waits for clients to disconnect no longer than the time-out', async () => {
  let heard = 0
  pair = await openPair((asks) => void (heard += asks.length))
  const lost = lossOf(pair.client.call(pair.peer, 1, soon()))
  await until(() => heard === 1)
  const began = performance.now()
  await pair.server.leave(200)
  expect(performance.now() - began).toBeGreaterThan(190)
  await pair.server.close()
  expect((await lost).sent).toBe(true)
})

test('treats a process that restarts at the same address as another one', async () => {
  pair = await openPair()
  const { client, peer } = pair
  await client.call(peer, 1, soon())
  await pair.server.close()
  await until(() => !client.isUsable('home-1'))
  await using _next = await openPair(echo, { id: 'home-2', port: peer.port })

  expect(client.isUsable('home-2')).toBe(true)
  expect(await client.call({ ...peer, id: 'home-2' }, 2, soon())).toEqual(reply('2'))
})
