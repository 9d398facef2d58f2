import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { RpcClient } from '../../src/routing/rpc-client.ts'
import { type RpcResponse, ConnectionLost } from '../../src/routing/rpc.ts'
import { openFaultyConnection } from './faulty-connection.ts'
import { echo, limits, listeningLog, openPair, reply, soon } from './pair.ts'
import { cases } from '../support/depth.ts'

type Outcome = { answer: RpcResponse } | { error: Error }

const cutAnywhere = fc.record({
  sizes: fc.array(fc.oneof(fc.nat(50), fc.nat(3_000)), { minLength: 1, maxLength: 60, size: 'max' }),
  turns: fc.integer({ min: 1, max: 5 }),
  bytes: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 30_000 })),
  way: fc.constantFrom('asks' as const, 'answers' as const),
})

test('settles every call truthfully, at whatever byte the connection breaks', async () => {
  const served = new Map<string, number>()
  await using pair = await openPair((asks) => {
    for (const { payload } of asks) {
      const [key] = payload as [string]
      served.set(key, (served.get(key) ?? 0) + 1)
    }
    for (const ask of asks) setTimeout(() => echo([ask]), (ask.payload as string[])[1]!.length % 3)
  })
  let run = 0
  const ends = { answered: 0, sent: 0, kept: 0 }
  const isTrue = async ({
    sizes,
    turns,
    bytes,
    way,
  }: {
    sizes: number[]
    turns: number
    bytes: number
    way: 'asks' | 'answers'
  }) => {
    run++
    const line = await openFaultyConnection(pair.peer.port)
    const client = new RpcClient(limits, listeningLog())
    const outcomes: Promise<[payload: [string, string], outcome: Outcome]>[] = []
    void line.cutAfter(bytes, way)
    for (const [i, size] of sizes.entries()) {
      const payload: [string, string] = [`${run}-${i}`, '🦊'.repeat(size)]
      const asked = client.call({ ...pair.peer, port: line.port }, payload, soon())
      outcomes.push(
        asked.then(
          (answer) => [payload, { answer }],
          (error: Error) => [payload, { error }],
        ),
      )
      if (i % turns === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    // Whatever was not cut so far ends now.
    setTimeout(() => line.close(), 100)
    for (const [payload, outcome] of await Promise.all(outcomes)) {
      const times = served.get(payload[0]) ?? 0
      if ('answer' in outcome) {
        ends.answered++
        expect([outcome.answer, times]).toEqual([reply(JSON.stringify(payload)), 1])
      } else {
        expect(outcome.error).toBeInstanceOf(ConnectionLost)
        const { sent } = outcome.error as ConnectionLost
        ends[sent ? 'sent' : 'kept']++
        expect(times).toBeLessThanOrEqual(sent ? 1 : 0)
      }
    }
    await client.close()
  }
  await fc.assert(fc.asyncProperty(cutAnywhere, isTrue), { numRuns: cases(60) })
  // All three were seen, or it shows nothing.
  expect(Object.values(ends).every((count) => count > 0)).toBe(true)
}, 60_000)
