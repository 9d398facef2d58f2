import { afterEach, beforeEach, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { RpcResponse, RpcRequest } from '../../src/routing/rpc.ts'
import { ClockOffset } from '../../src/routing/clock-offset.ts'
import { openFaultyConnection, type FaultyConnection } from './faulty-connection.ts'
import { echo, openPair, type Pair, reply, soon, until } from './pair.ts'

let heard: RpcRequest[]
let pair: Pair
let line: FaultyConnection
const home = () => ({ ...pair.peer, port: line.port })
beforeEach(async () => {
  heard = []
  pair = await openPair((asks) => {
    heard.push(...asks)
    echo(asks)
  })
  line = await openFaultyConnection(pair.peer.port)
})
afterEach(async () => {
  line.close()
  await pair.close()
})

const tooLate: RpcResponse = {
  kind: 'refusal',
  status: 503,
  message: 'The write could not be finished in time',
  headers: { 'retry-after': '1' },
}

test('rejects a request that was delayed past its deadline, and serves one that was not', async () => {
  const { client } = pair
  await client.call(home(), 'first', soon())
  const held = line.hold('asks')
  const deadline = performance.now() + 200
  const long = soon()
  const answers = [client.call(home(), 'short', deadline), client.call(home(), 'long', long)]
  await until(() => performance.now() > deadline)
  held.release()
  expect(await Promise.all(answers)).toEqual([tooLate, reply('"long"')])
  expect(heard.map(({ payload }) => payload)).toEqual(['first', 'long'])
  expect(heard[1]!.deadline).toBeLessThanOrEqual(long)
  expect(heard[1]!.deadline).toBeGreaterThan(long - 1_000)
})

test('never extends a deadline by a slow handshake, and corrects the clock offset soon', async () => {
  // The challenge passes, the welcome and the clock in it come late.
  const held = line.hold('answers', 38)
  const deadline = soon()
  const first = pair.client.call(home(), 1, deadline)
  await Bun.sleep(1_000)
  held.release()
  await first
  expect(heard[0]!.deadline).toBeLessThan(deadline - 500)
  const next = soon()
  await pair.client.call(home(), 2, next)
  expect(heard[1]!.deadline).toBeLessThanOrEqual(next)
  expect(heard[1]!.deadline).toBeGreaterThan(next - 500)
})

test('rejects a call without a response half a second after its deadline', async () => {
  await using mute = await openPair(() => {})
  const began = performance.now()
  const error = await mute.client.call(mute.peer, 1, began + 300).catch((reason: Error) => reason)
  expect(error).toMatchObject({ sent: true, message: 'no answer in time' })
  expect(performance.now() - began).toBeGreaterThan(800)
})

test('never overestimates the clock of another process, whatever the latency', () => {
  const heardOf = fc.array(
    fc.record({ afterMs: fc.nat(20_000), transitMs: fc.oneof(fc.nat(2), fc.nat(2_000)) }),
    { minLength: 1 },
  )
  // Two clocks that are being corrected part by a thousandth at most.
  fc.assert(
    fc.property(
      fc.integer(),
      fc.integer({ min: -1_000, max: 1_000 }),
      heardOf,
      (ahead, partsPerMillion, all) => {
        const theirs = (now: number) => ahead + now * (1 + partsPerMillion / 1_000_000)
        const clock = new ClockOffset()
        let now = 0
        for (const { afterMs, transitMs } of all) {
          const sent = now + afterMs
          now = sent + transitMs
          clock.update(theirs(sent), now)
          for (const later of [0, 1, 5_000]) {
            const believed = now + later + clock.at(now + later)
            expect(believed).toBeLessThanOrEqual(theirs(now + later) + 0.001)
          }
        }
      },
    ),
  )
})

test('knows the clock of another process exactly without latency', () => {
  const clock = new ClockOffset()
  clock.update(5_000, 1_000)
  clock.update(9_000, 2_000)
  expect(clock.at(2_000)).toBe(7_000)
})
