import { afterEach, beforeEach, expect, test } from 'bun:test'
import { encodeFrame } from '../../src/channel/frames.ts'
import { kinds, version } from '../../src/channel/protocol.ts'
import { echo, openPair, type Pair, reply, secret, soon, until } from './pair.ts'
import { greet, openRaw, type Raw } from './raw.ts'

let pair: Pair
let served: unknown[]
beforeEach(async () => {
  served = []
  pair = await openPair((asks) => {
    served.push(...asks.map(({ payload }) => payload))
    echo(asks)
  })
})
afterEach(() => pair.close())

const port = () => pair.listener.port
const asks = encodeFrame(kinds.asks, '[0,99999999,"stolen"]')
const honest = () => pair.peers.ask(pair.peer, 'honest', soon())
const greeted = (secrets: string[], id?: string) => greet(port(), secrets, id)
const hello = (change: (bytes: Buffer) => void = () => {}) => {
  const body = Buffer.concat([Buffer.from('docket'), Buffer.of(version, 0, 16, 0, 0), Buffer.alloc(32, 7)])
  change(body)
  return encodeFrame(kinds.hello, body)
}

/** Why strangers were turned away, as each line of the log says, once so many were. */
async function turnedAway(count: number): Promise<string[]> {
  const told = () => pair.log.told.map(({ what }) => what as { count: number; reason: string })
  await until(() => told().reduce((all, one) => all + one.count, 0) === count)
  for (const { message } of pair.log.told) expect(message).toBe('turned strangers away')
  return told().map(({ reason }) => reason)
}

const rude: [string, (raw: Raw) => void][] = [
  ['garbage', (raw) => raw.send(Buffer.alloc(5_000, 0xab))],
  ['another protocol', (raw) => raw.send('GET / HTTP/1.1\r\nHost: home\r\n\r\n')],
  ['a frame of a huge length', (raw) => raw.send(Buffer.from([255, 255, 255, 255, kinds.hello]))],
  ['a frame just too long', (raw) => raw.send(encodeFrame(kinds.hello, 'x'.repeat(1_025)).subarray(0, 5))],
  ['asks before any hello', (raw) => raw.send(asks)],
  ['asks after the hello', (raw) => raw.send(Buffer.concat([hello(), asks]))],
  ['a hello of another service', (raw) => raw.send(hello((body) => void (body[0] = 68)))],
  ['a hello that ends early', (raw) => raw.send(encodeFrame(kinds.hello, Buffer.from(`docket${'\u0001'}`)))],
  ['an empty hello', (raw) => raw.send(encodeFrame(kinds.hello))],
  ['an empty proof', (raw) => raw.send(Buffer.concat([hello(), encodeFrame(kinds.proof)]))],
  [
    'a proof of zeros',
    (raw) => raw.send(Buffer.concat([hello(), encodeFrame(kinds.proof, Buffer.alloc(32))])),
  ],
  [
    'a thousand proofs',
    (raw) => raw.send(Buffer.concat([hello(), encodeFrame(kinds.proof, Buffer.alloc(1_024))])),
  ],
  ['half a proof', (raw) => raw.send(Buffer.concat([hello(), encodeFrame(kinds.proof, Buffer.alloc(31))]))],
  ['two hellos', (raw) => raw.send(Buffer.concat([hello(), hello()]))],
]
for (const [what, act] of rude)
  test(`${what}: the line is closed at once, nothing is served, others are`, async () => {
    const raw = await openRaw(port())
    act(raw)
    raw.send(asks)
    await raw.closed
    expect(await honest()).toEqual(reply('"honest"'))
    expect(served).toEqual(['honest'])
    // For what was said, and not only once the time of who says nothing is over.
    expect(await turnedAway(1)).toEqual([expect.not.stringContaining('in time')])
  })

test('who says nothing, half a hello or a byte now and then is sent away in time', async () => {
  const silent = await openRaw(port())
  const half = await openRaw(port())
  half.send(hello().subarray(0, 20))
  const slow = await openRaw(port())
  const bytes = [...hello()]
  const drip = setInterval(() => slow.send(Buffer.of(bytes.shift() ?? 0)), 100)
  await Promise.all([silent.closed, half.closed, slow.closed])
  clearInterval(drip)
  expect(bytes).not.toBeEmpty()
  expect(new Set(await turnedAway(3))).toEqual(new Set(['no handshake in time']))
  expect(await honest()).toEqual(reply('"honest"'))
})

test('many who say nothing keep nobody out, and not all of them are kept', async () => {
  const crowd = await Promise.all(Array.from({ length: 200 }, () => openRaw(port())))
  let closed = 0
  for (const { closed: end } of crowd) void end.then(() => closed++)
  expect(await honest()).toEqual(reply('"honest"'))
  await until(() => closed === 200)
  const [first] = await turnedAway(200)
  expect(first).toBe('too many at once')
})

test('a wrong secret, or the right one for another process, is not served', async () => {
  for (const [secrets, id] of [
    [['another secret, just as long as it'], 'home-1'],
    [[secret], 'home-2'],
    [[secret], ''],
    [[secret], 'home-1\n'],
  ] as [string[], string][]) {
    const { raw, prove } = await greeted(secrets, id)
    const failed = await prove().then(
      () => 'welcome',
      (error: Error) => error.message,
    )
    expect([id, failed]).toEqual([id, 'closed before another frame came'])
    raw.send(asks)
    await raw.closed
  }
  expect((await greeted([secret]).then(({ prove }) => prove())) as object).toHaveProperty('terms')
  expect(served).toEqual([])
})

test('a proof that was overheard proves nothing on another line', async () => {
  const first = await greeted([secret])
  await first.prove()
  const again = await openRaw(port())
  again.send(first.hello)
  expect((await again.frame()).kind).toBe(kinds.challenge)
  again.send(Buffer.concat([first.proof, asks]))
  await again.closed
  expect(served).toEqual([])
})

test('another version is told ours and sent away', async () => {
  const raw = await openRaw(port())
  raw.send(hello((body) => void (body[6] = version + 1)))
  const challenge = await raw.frame()
  expect([challenge.kind, challenge.body[0]]).toEqual([kinds.challenge, version])
  await raw.closed
  expect(await turnedAway(1)).toEqual([`speaks version ${version + 1}, not ${version}`])
})
