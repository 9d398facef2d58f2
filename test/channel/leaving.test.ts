import { afterEach, expect, test } from 'bun:test'
import { type Ask, Lost } from '../../src/channel/protocol.ts'
import { echo, everMs, failureOf, openPair, type Pair, reply, soon, until } from './pair.ts'

let pair: Pair
afterEach(() => pair.close())

test('after a goodbye what is asked is answered, and nothing new is asked', async () => {
  const kept: Ask[] = []
  pair = await openPair((asks) => void kept.push(...asks))
  const { peers, peer, listener } = pair
  const first = [1, 2].map((i) => peers.ask(peer, i, soon()))
  await until(() => kept.length === 2)
  expect(peers.isUsable('home-1')).toBe(true)
  // This one meets the goodbye on its way.
  listener.goodbye()
  const crossing = peers.ask(peer, 3, soon())
  await until(() => !peers.isUsable('home-1'))
  const later = (await failureOf(peers.ask(peer, 4, soon()))) as Lost
  expect([later instanceof Lost, later.sent]).toEqual([true, false])

  let hasLeft = false
  const left = listener.left(everMs).then(() => (hasLeft = true))
  await until(() => kept.length === 3)
  echo(kept.slice(0, 1))
  expect(await first[0]).toEqual(reply('1'))
  expect(hasLeft).toBe(false)
  echo(kept)
  expect(await Promise.all([first[1], crossing])).toEqual([reply('2'), reply('3')])
  await left
  expect(peers.isUsable('home-1')).toBe(false)
})

test('who connects after the goodbye hears it too, and asks nothing that is served', async () => {
  let served = 0
  pair = await openPair((asks) => void (served += asks.length))
  const { peers, peer, listener } = pair
  listener.goodbye()
  await listener.left(everMs)
  const lost = (await failureOf(peers.ask(peer, 1, soon()))) as Lost
  expect([lost instanceof Lost, lost.sent]).toEqual([true, false])
  expect(peers.isUsable('home-1')).toBe(false)
  await listener.left(everMs)
  expect(served).toBe(0)
})

test('who does not leave is waited for no longer than agreed', async () => {
  let heard = 0
  pair = await openPair((asks) => void (heard += asks.length))
  const lost = failureOf(pair.peers.ask(pair.peer, 1, soon()))
  await until(() => heard === 1)
  const began = performance.now()
  pair.listener.goodbye()
  await pair.listener.left(200)
  expect(performance.now() - began).toBeGreaterThan(190)
  await pair.listener.close()
  expect(((await lost) as Lost).sent).toBe(true)
})

test('a process that went away without a word is told as lost, and its successor is another', async () => {
  pair = await openPair()
  const { peers, peer } = pair
  await peers.ask(peer, 1, soon())
  await pair.listener.close()
  await until(() => !peers.isUsable('home-1'))
  const next = await openPair(echo, { listener: { me: 'home-2', port: peer.port } })
  try {
    expect(peers.isUsable('home-2')).toBe(true)
    expect(await peers.ask({ ...peer, id: 'home-2' }, 2, soon())).toEqual(reply('2'))
  } finally {
    await next.close()
  }
})
