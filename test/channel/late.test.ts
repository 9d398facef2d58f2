import { afterEach, beforeEach, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Answer, Ask } from '../../src/channel/protocol.ts'
import { Pulse } from '../../src/channel/pulse.ts'
import { TheirClock } from '../../src/channel/their-clock.ts'
import { openLine, type Line } from './line.ts'
import { echo, openPair, type Pair, reply, soon, until } from './pair.ts'

let heard: Ask[]
let pair: Pair
let line: Line
const home = () => ({ ...pair.peer, port: line.port })
beforeEach(async () => {
  heard = []
  pair = await openPair((asks) => {
    heard.push(...asks)
    echo(asks)
  })
  line = await openLine(pair.listener.port)
})
afterEach(async () => {
  line.close()
  await pair.close()
})

const tooLate: Answer = {
  kind: 'refusal',
  status: 503,
  message: 'The write could not be finished in time',
  headers: { 'retry-after': '1' },
}

test('an ask that lay on its way past its time is refused there, not served; one in time keeps its own', async () => {
  const { peers } = pair
  await peers.ask(home(), 'first', soon())
  const held = line.hold('asks')
  const deadline = performance.now() + 200
  const long = soon()
  const answers = [peers.ask(home(), 'short', deadline), peers.ask(home(), 'long', long)]
  await until(() => performance.now() > deadline)
  held.release()
  expect(await Promise.all(answers)).toEqual([tooLate, reply('"long"')])
  expect(heard.map(({ payload }) => payload)).toEqual(['first', 'long'])
  expect(heard[1]!.deadline).toBeLessThanOrEqual(long)
  expect(heard[1]!.deadline).toBeGreaterThan(long - 1_000)
})

test('a handshake that took long gives no time away, and answers soon set the clock right', async () => {
  // The challenge passes, the welcome and the clock in it come late.
  const held = line.hold('answers', 38)
  const deadline = soon()
  const first = pair.peers.ask(home(), 1, deadline)
  await Bun.sleep(1_000)
  held.release()
  await first
  expect(heard[0]!.deadline).toBeLessThan(deadline - 500)
  const next = soon()
  await pair.peers.ask(home(), 2, next)
  expect(heard[1]!.deadline).toBeLessThanOrEqual(next)
  expect(heard[1]!.deadline).toBeGreaterThan(next - 500)
})

test('who waits for an answer past its time is told that none will come', async () => {
  const mute = await openPair(() => {})
  const began = performance.now()
  const error = await mute.peers.ask(mute.peer, 1, began + 300).catch((reason: Error) => reason)
  expect(error).toMatchObject({ sent: true, message: 'no answer in time' })
  expect(performance.now() - began).toBeGreaterThan(800)
  await mute.close()
})

test('the clock of another process is never thought ahead of what it shows, however long it takes to hear it', () => {
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
        const clock = new TheirClock()
        let now = 0
        for (const { afterMs, transitMs } of all) {
          const sent = now + afterMs
          now = sent + transitMs
          clock.heard(theirs(sent), now)
          for (const later of [0, 1, 5_000]) {
            const believed = now + later + clock.aheadBy(now + later)
            expect(believed).toBeLessThanOrEqual(theirs(now + later) + 0.001)
          }
        }
      },
    ),
  )
})

test('a clock that is heard at once is known at once', () => {
  const clock = new TheirClock()
  clock.heard(5_000, 1_000)
  clock.heard(9_000, 2_000)
  expect(clock.aheadBy(2_000)).toBe(7_000)
})

const ticks = (pulse: Pulse, count: number, isWaiting: boolean) =>
  Array.from({ length: count }, () => pulse.tick(100, isWaiting)).flatMap((sign, i) =>
    sign ? [[sign, (i + 1) * 100]] : [],
  )

test('who is waited for and says nothing is pinged after half a second, and lost one and a half later', () => {
  expect(ticks(new Pulse(), 20, true)).toEqual([
    ['ping', 500],
    ['lost', 2_000],
  ])
})

test('who rests is pinged now and then, and a sign of life is enough', () => {
  const pulse = new Pulse()
  expect(ticks(pulse, 60, false)).toEqual([['ping', 5_000]])
  pulse.heard()
  expect(ticks(pulse, 49, false)).toEqual([])
})
