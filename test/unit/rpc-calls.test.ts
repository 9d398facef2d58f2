import fc from 'fast-check'
import { authenticate, authorizationHeader, channelKeys, createWelcome } from '../../src/routing/rpc.ts'
import { newNonce, verifyWelcome } from '../../src/routing/rpc.ts'
import type { RpcRequest, RpcResponse } from '../../src/routing/rpc.ts'
import { cases } from '../kit.ts'
import { HttpError } from '../../src/responses/errors.ts'
import { answering, echo, echoInto, failureOf, inTenSeconds, limits, memoryLog } from './rpc-pair.ts'
import { openPair, reply } from './rpc-pair.ts'
import type { Pair } from './rpc-pair.ts'
import { ConnectionLost, RpcClient } from '../../src/routing/rpc-client.ts'
import { openFaultyConnection } from './faulty-connection.ts'

let pair: Pair | undefined

async function countMessages(): Promise<number[]> {
  const messages: number[] = []
  pair = await openPair((requests) => {
    messages.push(requests.length)
    echo(requests)
  })
  return messages
}

describe('calls', () => {
  afterEach(() => pair?.close())

  test('delivers payload and deadline unchanged, and returns the response', async () => {
    const received: RpcRequest[] = []
    const created: RpcResponse = { kind: 'reply', status: 201, body: '{"id":1}', etag: '"v1"' }
    pair = await openPair((requests) => {
      received.push(...requests)
      for (const { respond } of requests) respond(created)
    })
    const payload = { name: 'task.create', input: { title: 'Plate', none: null, list: [1, 2] } }
    const deadline = inTenSeconds()
    expect(await pair.call(payload, deadline)).toEqual(created)
    expect(received.map((request) => request.payload)).toEqual([payload])
    // Client and server share a clock here. The received deadline may be earlier by the duration of the handshake.
    expect(received[0]!.deadline).toBeLessThanOrEqual(deadline)
    expect(received[0]!.deadline).toBeGreaterThan(deadline - 9_000)
  })

  test('returns every kind of response unchanged', async () => {
    const responses: RpcResponse[] = [
      { kind: 'reply', status: 200, body: '', etag: null, replayed: true },
      { kind: 'refusal', status: 412, message: 'Changed, "meanwhile"\n', headers: { 'x-a': 'b' } },
      { kind: 'unknown' },
      { kind: 'failed' },
      { kind: 'reply', status: 204, body: '\n[1]\n', etag: 'W/"\\"' },
    ]
    pair = await openPair(answering((payload) => responses[payload as number]!))
    expect(await pair.callAll(responses.map((_, i) => i))).toEqual(responses)
  })

  test('returns texts unchanged, whatever characters they contain', async () => {
    const received: unknown[] = []
    const texts = [
      'é',
      '\u{feff}mark',
      '𝒳🦊',
      'end\u{1f600}',
      '\u0000\u2028',
      'a'.repeat(70_000),
      '語'.repeat(9_000),
      '',
      'x\udc00y',
    ]
    pair = await openPair(echoInto(received))
    const responses = await pair.callAll(texts)
    expect(received).toEqual(texts)
    expect(responses).toEqual(texts.map((text) => reply(JSON.stringify(text))))
  })

  test('matches responses to calls in any order', async () => {
    const received: RpcRequest[] = []
    pair = await openPair((requests) => {
      received.push(...requests)
      if (received.length < 4) return
      for (const i of [2, 0, 3, 1]) {
        const { respond, payload } = received[i]!
        setTimeout(() => respond(reply(`response ${payload}`)), i)
        setTimeout(() => respond(reply('a second response')), i + 5)
      }
    })
    const responses = await pair.callAll([0, 1, 2, 3])
    expect(responses).toEqual([0, 1, 2, 3].map((i) => reply(`response ${i}`)))
  })

  test('splits requests and responses into messages of about 1 MiB', async () => {
    const messages = await countMessages()
    const texts = Array.from({ length: 40 }, (_, i) => String(i % 10).repeat(100_000))
    const responses = await pair!.callAll(texts)
    expect(responses).toEqual(texts.map((text) => reply(JSON.stringify(text))))
    expect(messages).toEqual([10, 10, 10, 10])
  })

  test('a request above the message limit resolves as unknown, and affects no other request', async () => {
    pair = await openPair()
    const small = pair.call('small')
    expect(await pair.call('x'.repeat(limits.maxBytes))).toEqual({ kind: 'unknown' })
    expect(await small).toEqual(reply('"small"'))
  })

  test('a response above the message limit resolves as failed, and affects no other response', async () => {
    pair = await openPair(answering((payload) => reply('x'.repeat(payload as number))))
    const responses = await pair.callAll([10, limits.maxBytes, 20])
    expect(responses).toEqual([reply('x'.repeat(10)), { kind: 'failed' }, reply('x'.repeat(20))])
  })

  test('if the request handler throws, requests without a response resolve as failed', async () => {
    pair = await openPair((requests) => {
      requests[0]!.respond(reply('done'))
      throw new Error('unexpected')
    })
    const responses = await pair.callAll([1, 2])
    expect(responses).toEqual([reply('done'), { kind: 'failed' }])
    expect(pair.log.lines.map(({ reason }) => reason)).toEqual(['Error: unexpected'])
  })

  test('client and server each reject requests above their limit of pending requests with 503', async () => {
    const received: RpcRequest[] = []
    pair = await openPair((requests) => void received.push(...requests), {
      server: { maxPending: 3 },
      client: { maxPending: 5 },
    })
    const all = [0, 1, 2, 3, 4, 5].map((i) => pair!.call(i))
    const sixth = await failureOf(all[5]!)
    expect(sixth).toBeInstanceOf(HttpError)
    expect((sixth as HttpError).status).toBe(503)
    const rejected = {
      kind: 'refusal',
      status: 503,
      message: 'Too many writes wait',
      headers: { 'retry-after': '1' },
      details: {},
    }
    expect(await all[3]).toEqual(rejected as RpcResponse)
    expect(await all[4]).toEqual(rejected as RpcResponse)
    echo(received)
    expect(await Promise.all(all.slice(0, 3))).toEqual([reply('0'), reply('1'), reply('2')])
    expect(received.length).toBe(3)
  })
})

function shakeHands(ours: string[], theirs: string[], serverId = 'home-1') {
  const [client, server] = [channelKeys(ours), channelKeys(theirs)]
  const nonce = newNonce()
  const [received, key] = authenticate(server, 'home-1', authorizationHeader(client, serverId, nonce))
  expect(received).toBe(nonce)
  const welcome = createWelcome(key, 'home-1', received, 42.1)
  verifyWelcome(client, serverId, nonce, JSON.parse(JSON.stringify(welcome)))
}

const [old, current, next] = ['old '.repeat(9), 'now '.repeat(9), 'next'.repeat(9)] as const

const namesOf = (secrets: string[]) => secrets.map((secret) => secret.slice(0, 4).trim()).join(' and ')

for (const [ours, theirs] of [
  [[current], [current]],
  [[current, old], [old]],
  [[old], [current, old]],
  [
    [current, old],
    [next, current],
  ],
] as [string[], string[]][])
  test(`a client with the secrets ${namesOf(ours)} and a server with ${namesOf(theirs)} accept each other`, () => {
    shakeHands(ours, theirs)
    shakeHands(theirs, ours)
  })

test('rejects a client that shares no secret with the server, or that expects another process', () => {
  for (const [ours, theirs] of [
    [[current], [old]],
    [[current, next], [old]],
    [[next], [current, old]],
  ] as [string[], string[]][])
    expect(() => shakeHands(ours, theirs)).toThrow('the client has another secret')
  for (const id of ['home-2', '', 'home-1\n'])
    expect(() => shakeHands([current], [current], id)).toThrow('expects another process')
})

test('rejects an empty or missing secret', () => {
  for (const secrets of [[], [''], [current, '']]) expect(() => channelKeys(secrets)).toThrow('secret')
})

test('rejects an Authorization header that is truncated, changed or of another protocol', () => {
  const keys = channelKeys([current])
  const header = authorizationHeader(keys, 'home-1', newNonce())
  const [scheme, nonce, proof] = header.split(' ')
  const wrong = [
    undefined,
    '',
    'Bearer x',
    `${scheme} ${nonce}`,
    `${scheme} ${nonce} `,
    `${scheme} ${nonce} ${proof!.slice(1)}`,
    `${scheme} ${newNonce()} ${proof}`,
    `${scheme} ${nonce}${' x'.repeat(8)} ${proof}`,
    header.replace('docket', 'other'),
    header.toUpperCase(),
  ]
  for (const invalid of wrong) expect(() => authenticate(keys, 'home-1', invalid)).toThrow()
  expect(authenticate(keys, 'home-1', `${scheme} ${nonce} x ${proof}`)[0]).toBe(nonce!)
})

test("rejects a welcome message that was changed, belongs to another handshake, or repeats the client's own proof", () => {
  const keys = channelKeys([current])
  const nonce = newNonce()
  const header = authorizationHeader(keys, 'home-1', nonce)
  const welcome = createWelcome(authenticate(keys, 'home-1', header)[1], 'home-1', nonce, 42)
  const verify = (changed: object, keysOfClient = keys, sent = nonce) =>
    verifyWelcome(keysOfClient, 'home-1', sent, { ...welcome, ...changed })
  verify({})
  const [reflected] = header.split(' ').slice(2)
  for (const changed of [{ clock: 43 }, { proof: reflected }, { proof: undefined }])
    expect(() => verify(changed)).toThrow('another process answers')
  expect(() => verify({}, keys, newNonce())).toThrow('another process answers')
  expect(() => verify({}, channelKeys([old]))).toThrow('another process answers')
})

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
