import { afterEach, beforeEach, expect, test } from 'bun:test'
import { type RpcRequest } from '../../src/routing/rpc.ts'
import { openFaultyConnection, type FaultyConnection } from './faulty-connection.ts'
import { echo, openPair, type Pair, reply, soon, until, lossOf } from './pair.ts'

let served: unknown[]
let direct: Pair
let line: FaultyConnection
const home = () => ({ ...direct.peer, port: line.port })
let other: Pair
beforeEach(async () => {
  served = []
  const serve = (asks: RpcRequest[]) => {
    served.push(...asks.map(({ payload }) => payload))
    echo(asks)
  }
  direct = await openPair(serve)
  other = await openPair(echo, { id: 'home-2' })
  line = await openFaultyConnection(direct.peer.port)
})
afterEach(async () => {
  line.close()
  await Promise.all([direct.close(), other.close()])
})

const askOther = () => direct.client.call({ ...other.peer, id: 'home-2' }, 'other', soon())

for (const way of ['asks', 'answers'] as const)
  test(`loses the calls of a connection that breaks in the middle of ${way}, no others, and reconnects`, async () => {
    const { client } = direct
    expect(await client.call(home(), 'first', soon())).toEqual(reply('"first"'))
    await askOther()
    const cut = line.cutAfter(40, way)
    const lost = ['a', 'b', 'c'].map((one) => lossOf(client.call(home(), one.repeat(50), soon())))
    const unharmed = askOther()
    for (const { sent } of await Promise.all(lost)) expect(sent).toBe(true)
    await cut
    expect(await unharmed).toEqual(reply('"other"'))
    expect(client.isUsable('home-2')).toBe(true)
    expect(served).toHaveLength(way === 'asks' ? 1 : 4)

    expect(client.isUsable('home-1')).toBe(false)
    expect(await lossOf(client.call(home(), 'too early', soon()))).toMatchObject({ sent: false })
    await until(() => client.isUsable('home-1'))
    expect(await client.call(home(), 'again', soon())).toEqual(reply('"again"'))
    expect(served.at(-1)).toBe('again')
  })

test('reads messages that arrive a few bytes at a time', async () => {
  line.crumble(7)
  const texts = ['é🦊', 'x'.repeat(500), '']
  const answers = await Promise.all(texts.map((text) => direct.client.call(home(), text, soon())))
  expect(answers).toEqual(texts.map((text) => reply(JSON.stringify(text))))
})

test('marks calls as unsent when no process listens, or the handshake is not answered', async () => {
  line.close()
  const { client } = direct
  expect(await lossOf(client.call(home(), 1, soon()))).toMatchObject({ sent: false })

  line = await openFaultyConnection(direct.peer.port)
  line.hold('asks')
  const mute = { ...home(), id: 'mute' }
  const unheard = await lossOf(client.call(mute, 1, soon()))
  expect(unheard.sent).toBe(false)
  // Both sides give a handshake the same time: whichever is over first ends it.
  expect(['no handshake in time', 'the connection was closed']).toContain(unheard.message)
  expect(served).toEqual([])
})

test('treats an invalid address as an unreachable process', async () => {
  const nowhere = { id: 'nowhere', host: '127.0.0.1', port: 70_000 }
  expect(await lossOf(direct.client.call(nowhere, 1, soon()))).toMatchObject({ sent: false })
  expect(direct.client.isUsable('nowhere')).toBe(false)
})

test('gives up a silent connection before the deadline of its calls', async () => {
  const { client } = direct
  await client.call(home(), 1, soon())
  line.hold('answers')
  expect(await lossOf(client.call(home(), 2, soon()))).toMatchObject({
    sent: true,
    message: 'no heartbeat in time',
  })
  expect(client.isUsable('home-1')).toBe(false)
})

test('waits for a late response of a process that answers heartbeats', async () => {
  await using slow = await openPair((asks) => void setTimeout(() => echo(asks), 3_000))

  expect(await slow.client.call(slow.peer, 1, soon())).toEqual(reply('1'))
})

test('loses the pending calls of a client that closes, and sends nothing more', async () => {
  let heard = 0
  await using mute = await openPair((asks) => void (heard += asks.length))
  const lost = lossOf(mute.client.call(mute.peer, 1, soon()))
  await until(() => heard === 1)
  await mute.client.close()
  expect((await lost).sent).toBe(true)
  expect([mute.client.isUsable('home-1'), mute.client.isUsable('home-2')]).toEqual([false, false])
  expect(await lossOf(mute.client.call(mute.peer, 1, soon()))).toMatchObject({ sent: false })
})
