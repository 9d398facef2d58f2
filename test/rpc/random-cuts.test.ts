import fc from 'fast-check'
import { RpcClient, ConnectionLost } from '../../src/routing/rpc-client.ts'
import type { RpcResponse } from '../../src/routing/rpc.ts'
import { cases } from '../kit.ts'
import { openFaultyConnection } from './faulty-connection.ts'
import { echo, limits, memoryLog, openPair, reply, inTenSeconds } from './pair.ts'

type Outcome = { response: RpcResponse } | { error: Error }

const scenarios = fc.record({
  sizes: fc.array(fc.oneof(fc.nat(50), fc.nat(3_000)), { minLength: 1, maxLength: 60, size: 'max' }),
  turns: fc.integer({ min: 1, max: 5 }),
  bytes: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 30_000 })),
  direction: fc.constantFrom('requests' as const, 'responses' as const),
})

type Scenario = typeof scenarios extends fc.Arbitrary<infer S> ? S : never

test('reports the true outcome of each call, wherever the connection breaks', async () => {
  const served = new Map<string, number>()
  await using pair = await openPair((requests) => {
    for (const { payload } of requests) {
      const [key] = payload as [string]
      served.set(key, (served.get(key) ?? 0) + 1)
    }
    for (const request of requests)
      setTimeout(() => echo([request]), (request.payload as string[])[1]!.length % 3)
  })
  let run = 0
  const outcomeCounts = { answered: 0, sent: 0, unsent: 0 }
  const check = async ({ sizes, turns, bytes, direction }: Scenario) => {
    run++
    const line = await openFaultyConnection(pair.peer.port)
    const client = new RpcClient(limits, memoryLog())
    const outcomes: Promise<[payload: [string, string], outcome: Outcome]>[] = []
    void line.cutAfter(bytes, direction)
    for (const [i, size] of sizes.entries()) {
      const payload: [string, string] = [`${run}-${i}`, '🦊'.repeat(size)]
      const called = client.call({ ...pair.peer, port: line.port }, payload, inTenSeconds())
      outcomes.push(
        called.then(
          (response) => [payload, { response }],
          (error: Error) => [payload, { error }],
        ),
      )
      if (i % turns === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    // Closes the connection if `cutAfter` has not broken it.
    setTimeout(() => line.close(), 100)
    for (const [payload, outcome] of await Promise.all(outcomes)) {
      const times = served.get(payload[0]) ?? 0
      if ('response' in outcome) {
        outcomeCounts.answered++
        expect([outcome.response, times]).toEqual([reply(JSON.stringify(payload)), 1])
      } else {
        expect(outcome.error).toBeInstanceOf(ConnectionLost)
        const { sent } = outcome.error as ConnectionLost
        outcomeCounts[sent ? 'sent' : 'unsent']++
        expect(times).toBeLessThanOrEqual(sent ? 1 : 0)
      }
    }
    await client.close()
  }
  await fc.assert(fc.asyncProperty(scenarios, check), { numRuns: cases(60) })
  expect(Object.values(outcomeCounts).every((count) => count > 0)).toBe(true)
}, 60_000)
