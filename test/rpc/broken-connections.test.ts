import { openForEach } from '../kit.ts'
import { openFaultyConnection, type FaultyConnection } from './faulty-connection.ts'
import { echo, echoInto, openPair, type Pair, reply, inTenSeconds, until, lossOf } from './pair.ts'

const forEach = openForEach()
let served: unknown[]
let direct: Pair
let line: FaultyConnection
const home = () => ({ ...direct.peer, port: line.port })
let other: Pair
beforeEach(async () => {
  served = []
  direct = await forEach(openPair(echoInto(served)))
  other = await forEach(openPair(echo, { id: 'home-2' }))
  line = await forEach(openFaultyConnection(direct.peer.port))
})

const callHome = (payload: unknown) => direct.client.call(home(), payload, inTenSeconds())
const callOther = () => direct.client.call({ ...other.peer, id: 'home-2' }, 'other', inTenSeconds())

for (const direction of ['requests', 'responses'] as const)
  test(`fails only the calls of a connection that breaks while sending ${direction}, then reconnects`, async () => {
    const { client } = direct
    expect(await callHome('first')).toEqual(reply('"first"'))
    await callOther()
    const cut = line.cutAfter(40, direction)
    const lost = ['a', 'b', 'c'].map((letter) => lossOf(callHome(letter.repeat(50))))
    const unaffected = callOther()
    for (const { sent } of await Promise.all(lost)) expect(sent).toBe(true)
    expect(client.isUsable('home-1')).toBe(false)
    expect(await lossOf(callHome('too early'))).toMatchObject({ sent: false })
    await cut
    expect(await unaffected).toEqual(reply('"other"'))
    expect(client.isUsable('home-2')).toBe(true)
    expect(served).toHaveLength(direction === 'requests' ? 1 : 4)

    await until(() => client.isUsable('home-1'))
    expect(await callHome('again')).toEqual(reply('"again"'))
    expect(served.at(-1)).toBe('again')
  })

test('reads messages that arrive a few bytes at a time', async () => {
  line.splitInto(7)
  const texts = ['é🦊', 'x'.repeat(500), '']
  const responses = await Promise.all(texts.map((text) => callHome(text)))
  expect(responses).toEqual(texts.map((text) => reply(JSON.stringify(text))))
})

test('marks calls as unsent if no process listens, or the server does not answer the handshake', async () => {
  line.close()
  const { client } = direct
  expect(await lossOf(callHome(1))).toMatchObject({ sent: false })

  line = await forEach(openFaultyConnection(direct.peer.port))
  line.hold('requests')
  const silent = { ...home(), id: 'silent' }
  const lost = await lossOf(client.call(silent, 1, inTenSeconds()))
  expect(lost.sent).toBe(false)
  // Both sides have the same time-out for a handshake, so either side may be the first to close the connection.
  expect(['no handshake in time', 'the connection was closed']).toContain(lost.message)
  expect(served).toEqual([])
})

test('treats an invalid address as an unreachable process', async () => {
  const nowhere = { id: 'nowhere', host: '127.0.0.1', port: 70_000 }
  expect(await lossOf(direct.client.call(nowhere, 1, inTenSeconds()))).toMatchObject({ sent: false })
  expect(direct.client.isUsable('nowhere')).toBe(false)
})

test('closes a silent connection before the deadline of its calls', async () => {
  const { client } = direct
  await callHome(1)
  line.hold('responses')
  expect(await lossOf(callHome(2))).toMatchObject({ sent: true, message: 'no heartbeat in time' })
  expect(client.isUsable('home-1')).toBe(false)
})

test('waits for a late response of a process that answers heartbeats', async () => {
  await using slow = await openPair((requests) => void setTimeout(() => echo(requests), 3_000))

  expect(await slow.call(1)).toEqual(reply('1'))
})

test('a client that closes rejects pending calls, and sends no new calls', async () => {
  let received = 0
  await using silent = await openPair((requests) => void (received += requests.length))
  const lost = lossOf(silent.call(1))
  await until(() => received === 1)
  await silent.client.close()
  expect((await lost).sent).toBe(true)
  expect([silent.client.isUsable('home-1'), silent.client.isUsable('home-2')]).toEqual([false, false])
  expect(await lossOf(silent.call(1))).toMatchObject({ sent: false })
})
