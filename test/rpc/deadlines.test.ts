import fc from 'fast-check'
import type { RpcResponse, RpcRequest } from '../../src/routing/rpc.ts'
import { ClockOffset } from '../../src/routing/rpc-client.ts'
import { openForEach } from '../kit.ts'
import { openFaultyConnection, type FaultyConnection } from './faulty-connection.ts'
import { echo, openPair, type Pair, reply, inTenSeconds, until } from './pair.ts'

const forEach = openForEach()
let received: RpcRequest[]
let pair: Pair
let line: FaultyConnection
const home = () => ({ ...pair.peer, port: line.port })
beforeEach(async () => {
  received = []
  const opening = openPair((requests) => {
    received.push(...requests)
    echo(requests)
  })
  pair = await forEach(opening)
  line = await forEach(openFaultyConnection(pair.peer.port))
})

const tooLate: RpcResponse = {
  kind: 'refusal',
  status: 503,
  message: 'The write timed out. Nothing was written',
  headers: { 'retry-after': '1' },
  details: {},
}

test('rejects a request that arrives after its deadline, and serves requests that arrive before their deadline', async () => {
  const { client } = pair
  await client.call(home(), 'first', inTenSeconds())
  const held = line.hold('requests')
  const deadline = performance.now() + 200
  const long = inTenSeconds()
  const responses = [client.call(home(), 'short', deadline), client.call(home(), 'long', long)]
  await until(() => performance.now() > deadline)
  held.release()
  expect(await Promise.all(responses)).toEqual([tooLate, reply('"long"')])
  expect(received.map(({ payload }) => payload)).toEqual(['first', 'long'])
  expect(received[1]!.deadline).toBeLessThanOrEqual(long)
  expect(received[1]!.deadline).toBeGreaterThan(long - 9_000)
})

test('a slow handshake never extends a deadline, and the next response corrects the clock offset', async () => {
  // Delays the welcome message, which contains the clock.
  const held = line.hold('responses', 38)
  const deadline = inTenSeconds()
  const first = pair.client.call(home(), 1, deadline)
  await Bun.sleep(1_000)
  held.release()
  await first
  expect(received[0]!.deadline).toBeLessThan(deadline - 500)
  const next = inTenSeconds()
  await pair.client.call(home(), 2, next)
  expect(received[1]!.deadline).toBeLessThanOrEqual(next)
  expect(received[1]!.deadline).toBeGreaterThan(next - 500)
})

test('rejects a call without a response half a second after its deadline', async () => {
  await using silent = await openPair(() => {})
  const began = performance.now()
  const error = await silent.call(1, began + 300).catch((reason: Error) => reason)
  expect(error).toMatchObject({ sent: true, message: 'no answer in time' })
  expect(performance.now() - began).toBeGreaterThan(800)
})

test('never overestimates the clock of another process, whatever the latency', () => {
  const messages = fc.array(
    fc.record({ afterMs: fc.nat(20_000), transitMs: fc.oneof(fc.nat(2), fc.nat(2_000)) }),
    { minLength: 1 },
  )
  // Clocks that NTP corrects drift by at most 0.1 %.
  fc.assert(
    fc.property(
      fc.integer(),
      fc.integer({ min: -1_000, max: 1_000 }),
      messages,
      (ahead, partsPerMillion, received) => {
        const theirs = (now: number) => ahead + now * (1 + partsPerMillion / 1_000_000)
        const clock = new ClockOffset()
        let now = 0
        for (const { afterMs, transitMs } of received) {
          const sent = now + afterMs
          now = sent + transitMs
          clock.update(theirs(sent), now)
          for (const later of [0, 1, 5_000]) {
            const estimate = now + later + clock.at(now + later)
            expect(estimate).toBeLessThanOrEqual(theirs(now + later) + 0.001)
          }
        }
      },
    ),
  )
})

test('without latency, the clock offset is exact', () => {
  const clock = new ClockOffset()
  clock.update(5_000, 1_000)
  clock.update(9_000, 2_000)
  expect(clock.at(2_000)).toBe(7_000)
})
