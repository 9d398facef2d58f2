import { afterEach, beforeEach, expect, test } from 'bun:test'
import { type Ask, Lost } from '../../src/channel/protocol.ts'
import { openLine, type Line } from './line.ts'
import { echo, failureOf, openPair, type Pair, reply, soon, until } from './pair.ts'

let served: unknown[]
let direct: Pair
let line: Line
/** The same process behind the line, and another one that is reached directly. */
const home = () => ({ ...direct.peer, port: line.port })
let other: Pair
beforeEach(async () => {
  served = []
  const serve = (asks: Ask[]) => {
    served.push(...asks.map(({ payload }) => payload))
    echo(asks)
  }
  direct = await openPair(serve)
  other = await openPair(echo, { listener: { me: 'home-2' } })
  line = await openLine(direct.listener.port)
})
afterEach(async () => {
  line.close()
  await Promise.all([direct.close(), other.close()])
})

const askOther = () => direct.peers.ask({ ...other.peer, id: 'home-2' }, 'other', soon())

for (const way of ['asks', 'answers'] as const)
  test(`a line cut in the middle of ${way}: those are lost, no others, and the way is found again`, async () => {
    const { peers } = direct
    expect(await peers.ask(home(), 'first', soon())).toEqual(reply('"first"'))
    await askOther()
    const cut = line.cutAfter(40, way)
    const lost = ['a', 'b', 'c'].map((one) => failureOf(peers.ask(home(), one.repeat(50), soon())))
    const unharmed = askOther()
    for (const error of await Promise.all(lost)) {
      expect(error).toBeInstanceOf(Lost)
      expect((error as Lost).sent).toBe(true)
    }
    await cut
    expect(await unharmed).toEqual(reply('"other"'))
    expect(peers.isUsable('home-2')).toBe(true)
    expect(served).toHaveLength(way === 'asks' ? 1 : 4)

    expect(peers.isUsable('home-1')).toBe(false)
    const early = (await failureOf(peers.ask(home(), 'too early', soon()))) as Lost
    expect([early instanceof Lost, early.sent]).toEqual([true, false])
    await until(() => peers.isUsable('home-1'))
    expect(await peers.ask(home(), 'again', soon())).toEqual(reply('"again"'))
    expect(served.at(-1)).toBe('again')
  })

test('frames may arrive in crumbs', async () => {
  line.crumble(7)
  const texts = ['é🦊', 'x'.repeat(500), '']
  const answers = await Promise.all(texts.map((text) => direct.peers.ask(home(), text, soon())))
  expect(answers).toEqual(texts.map((text) => reply(JSON.stringify(text))))
})

test('what was never sent is told so: nobody there, or nobody who takes part in the handshake', async () => {
  line.close()
  const { peers } = direct
  const nobody = (await failureOf(peers.ask(home(), 1, soon()))) as Lost
  expect([nobody instanceof Lost, nobody.sent]).toEqual([true, false])

  line = await openLine(direct.listener.port)
  line.hold('asks')
  const mute = { ...home(), id: 'mute' }
  const unheard = (await failureOf(peers.ask(mute, 1, soon()))) as Lost
  expect([unheard instanceof Lost, unheard.sent]).toEqual([true, false])
  // Both sides give a handshake the same time: whichever is over first ends it.
  expect(['no handshake in time', 'the connection was closed']).toContain(unheard.message)
  expect(served).toEqual([])
})

test('an address that cannot be one is a process out of reach', async () => {
  const nowhere = { id: 'nowhere', host: '127.0.0.1', port: 70_000 }
  const lost = (await failureOf(direct.peers.ask(nowhere, 1, soon()))) as Lost
  expect([lost instanceof Lost, lost.sent]).toEqual([true, false])
  expect(direct.peers.isUsable('nowhere')).toBe(false)
})

test('a line that goes silent is given up before the time of what travelled on it is over, and that is lost', async () => {
  const { peers } = direct
  await peers.ask(home(), 1, soon())
  line.hold('answers')
  const lost = (await failureOf(peers.ask(home(), 2, soon()))) as Lost
  expect([lost instanceof Lost, lost.sent, lost.message]).toEqual([true, true, 'went silent'])
  expect(peers.isUsable('home-1')).toBe(false)
})

test('who is asked and answers late, but lives, is waited for', async () => {
  const slow = await openPair((asks) => void setTimeout(() => echo(asks), 3_000))
  try {
    expect(await slow.peers.ask(slow.peer, 1, soon())).toEqual(reply('1'))
  } finally {
    await slow.close()
  }
})

test('a closed asker loses what it waits for, and asks nothing more', async () => {
  let heard = 0
  const mute = await openPair((asks) => void (heard += asks.length))
  const lost = failureOf(mute.peers.ask(mute.peer, 1, soon()))
  await until(() => heard === 1)
  await mute.peers.close()
  expect(((await lost) as Lost).sent).toBe(true)
  expect([mute.peers.isUsable('home-1'), mute.peers.isUsable('home-2')]).toEqual([false, false])
  const after = (await failureOf(mute.peers.ask(mute.peer, 1, soon()))) as Lost
  expect([after instanceof Lost, after.sent]).toEqual([true, false])
  await mute.close()
})
