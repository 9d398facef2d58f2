import fc from 'fast-check'
import { cases, openForEach, upTo, words } from '../kit.ts'
import { channelKeys, newNonce } from '../../src/routing/rpc.ts'
import type { RpcResponse } from '../../src/routing/rpc.ts'
import { ConnectionLost, RpcClient } from '../../src/routing/rpc-client.ts'
import { answering, authorization, connectRaw, echo, failureOf, inTenSeconds, limits } from './rpc-scene.ts'
import { lossOf, memoryLog, openFaultyConnection, openPair, reply, secret, serveRaw } from './rpc-scene.ts'
import { welcomeTo } from './rpc-scene.ts'

const forEach = openForEach()
const open = (...given: Parameters<typeof openPair>) => forEach(openPair(...given))

test('delivers payload and deadline unchanged, and returns every kind of response unchanged', async () => {
  const responses: RpcResponse[] = [
    { kind: 'reply', status: 201, body: '{"id":1}', etag: '"v1"' },
    { kind: 'reply', status: 200, body: '', etag: null, replayed: true },
    { kind: 'refusal', status: 412, message: 'Changed, "meanwhile"\n', headers: { 'x-a': 'b' } },
    { kind: 'unknown' },
    { kind: 'failed' },
    { kind: 'reply', status: 204, body: '\n[1]\n', etag: 'W/"\\"' },
  ]
  const { call, received } = await open(answering((payload) => responses[(payload as { n: number }).n]!))
  const deadline = inTenSeconds()
  const payloads = responses.map((_, n) => ({ n, input: { title: 'Plate', none: null, list: [1, 2] } }))
  expect(await Promise.all(payloads.map((payload) => call(payload, deadline)))).toEqual(responses)
  expect(received.map(({ payload }) => payload)).toEqual(payloads)
  // Client and server share a clock here. The received deadline may be earlier by the duration of the handshake.
  expect(received[0]!.deadline).toBeLessThanOrEqual(deadline)
  expect(received[0]!.deadline).toBeGreaterThan(deadline - 9_000)
})

test('splits requests and responses into messages of about 1 MiB', async () => {
  const messages: number[] = []
  const { call, callAll } = await open((requests) => {
    messages.push(requests.length)
    echo(requests)
  })
  await call('connects')
  const texts = upTo(40).map((i) => String(i % 10).repeat(100_000))
  expect(await callAll(texts)).toEqual(texts.map((text) => reply(JSON.stringify(text))))
  expect(messages).toEqual([1, 10, 10, 10, 10])
})

test('a request or response above the message limit affects no other call, nor does an error of the handler', async () => {
  const { callAll, log } = await open((requests) => {
    for (const { payload, respond } of requests)
      if (payload === 'throw') throw new Error('unexpected')
      else respond(reply('x'.repeat(typeof payload === 'number' ? payload : 1)))
  })
  const tooLarge = ['x'.repeat(limits.maxBytes), limits.maxBytes]
  expect(await callAll(['small', ...tooLarge, 20])).toEqual([
    reply('x'),
    { kind: 'unknown' },
    { kind: 'failed' },
    reply('x'.repeat(20)),
  ])
  expect(await callAll(['done', 'throw'])).toEqual([reply('x'), { kind: 'failed' }])
  expect(log.lines.at(-1)!.reason).toBe('Error: unexpected')
})

test('client and server each reject requests above their limit of pending requests with 503', async () => {
  const { call, received } = await open(() => {}, { server: { maxPending: 3 }, client: { maxPending: 5 } })
  const all = [0, 1, 2, 3, 4, 5].map((i) => call(i))
  expect(await failureOf(all[5]!)).toMatchObject({ status: 503 })
  for (const rejected of [await all[3], await all[4]])
    expect(rejected).toMatchObject({ kind: 'refusal', status: 503, headers: { 'retry-after': '1' } })
  expect(received).toHaveLength(3)
  echo(received)
  expect(await Promise.all(all.slice(0, 3))).toEqual([reply('0'), reply('1'), reply('2')])
})

test('a client reaches a server if they share a secret and the client expects this server', async () => {
  const isServed = async (ours: string[], theirs: string[], id = 'home-1') => {
    const { client, peer } = await open(echo, { client: { secrets: ours }, server: { secrets: theirs } })
    const call = client.call({ ...peer, id }, 1, inTenSeconds())
    const answer = await call.catch((error: unknown) => error)
    return answer instanceof ConnectionLost ? answer.sent : answer
  }
  const secretsOf = (pair: string) => pair.split('/').map((names) => names.split(',')) as [string[], string[]]
  for (const [ours, theirs] of words('now/now now,old/old now,old/next,now').map(secretsOf))
    for (const answer of [await isServed(ours, theirs), await isServed(theirs, ours)])
      expect(answer).toEqual(reply('1'))
  for (const [ours, theirs] of words('now/old now,next/old next/now,old').map(secretsOf))
    expect(await isServed(ours, theirs)).toBe(false)
  for (const id of ['home-2', '']) expect(await isServed(['now'], ['now'], id)).toBe(false)
  for (const secrets of [[], [''], ['now', '']]) expect(() => channelKeys(secrets)).toThrow('secret')
})

test('a server rejects a client without a valid new proof with 401', async () => {
  const pair = await open()
  const header = authorization(secret)
  const [scheme, nonce, proof] = header.split(' ')
  const other = [authorization('another secret, just as long as it'), authorization(secret, 'home-2')]
  const malformed = [`${scheme} ${nonce}`, header.toUpperCase(), `${scheme} ${nonce} ${proof!.slice(1)}`]
  const foreign = [`${scheme} ${newNonce()} ${proof}`, header.replace('docket', 'other'), 'Bearer x']
  const many = `${scheme} ${nonce}${' x'.repeat(8)} ${proof}`
  const answerTo = (one: string) => connectRaw(pair.peer.port, one).catch(({ message }) => message)
  for (const wrong of [...other, ...malformed, ...foreign, many])
    expect(await answerTo(wrong)).toContain('401')
  const { socket } = await connectRaw(pair.peer.port, `${scheme} ${nonce} x ${proof}`)
  expect(await answerTo(header)).toContain('401')
  socket.terminate()
  expect([await pair.call('honest'), pair.served()]).toEqual([reply('"honest"'), ['honest']])
  expect(pair.log.lines[0]!.msg).toBe('rejected an unauthenticated peer')
})

test('a client sends requests only to a server with a valid proof', async () => {
  const { client } = await open()
  let count = 0
  const callOf = async (welcomeOf: (header: string, id: string) => string) => {
    const requests: unknown[] = []
    const { peer, server } = await serveRaw(async ({ socket, next }, header, id) => {
      socket.send(welcomeOf(header, id))
      const request = await next()
      if (request) requests.push(request[2])
      socket.terminate()
    }, `played-${count++}`)
    await forEach(server)
    const { message, sent } = await lossOf(client.call(peer, 'secret', inTenSeconds()))
    return [sent, requests, message]
  }
  expect(await callOf(welcomeTo)).toEqual([true, ['secret'], expect.any(String)])
  const wrong: ((header: string, id: string) => string)[] = [
    ...[{ clock: 43 }, { proof: 'x' }, { proof: undefined }].map(
      (changed) => (header: string, id: string) => {
        return welcomeTo(header, id, changed)
      },
    ),
    (_, id) => welcomeTo(authorization(secret, id), id),
    () => '{}',
    () => '[0,0,0,{"kind":"failed"}]',
    (header) => JSON.stringify({ proof: header }),
  ]
  for (const welcomeOf of wrong)
    expect(await callOf(welcomeOf)).toEqual([false, [], 'another process answers at this address'])
})

const scenarios = fc.record({
  sizes: fc.array(fc.oneof(fc.nat(50), fc.nat(3_000)), { minLength: 1, maxLength: 60, size: 'max' }),
  turns: fc.integer({ min: 1, max: 5 }),
  bytes: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 30_000 })),
  direction: fc.constantFrom('requests' as const, 'responses' as const),
})

test('reports the true outcome of each call, wherever the connection breaks', async () => {
  const pair = await open((requests) => {
    for (const request of requests)
      setTimeout(() => echo([request]), (request.payload as string[])[1]!.length % 3)
  })
  const servedTimes = (key: string) => pair.served().filter((one) => (one as string[])[0] === key).length
  let run = 0
  const outcomeCounts = { answered: 0, sent: 0, unsent: 0 }
  const property = fc.asyncProperty(scenarios, async ({ sizes, turns, bytes, direction }) => {
    run++
    const line = await openFaultyConnection(pair.peer.port)
    const client = new RpcClient(limits, memoryLog())
    line.cutAfter(bytes, direction)
    const calls: Promise<RpcResponse | ConnectionLost>[] = []
    const payloads = sizes.map((size, i) => [`${run}-${i}`, '🦊é\u2028\ufeff'.repeat(size / 4)] as const)
    for (const [i, payload] of payloads.entries()) {
      const called = client.call({ ...pair.peer, port: line.port }, payload, inTenSeconds())
      calls.push(called.catch((error: ConnectionLost) => error))
      if (i % turns === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    for (const [i, outcome] of (await Promise.all(calls)).entries()) {
      const payload = payloads[i]!
      const times = servedTimes(payload[0])
      if (outcome instanceof Error) {
        expect(outcome).toBeInstanceOf(ConnectionLost)
        outcomeCounts[outcome.sent ? 'sent' : 'unsent']++
        expect(times).toBeLessThanOrEqual(outcome.sent ? 1 : 0)
      } else {
        outcomeCounts.answered++
        expect([outcome, times]).toEqual([reply(JSON.stringify(payload)), 1])
      }
    }
    line.close()
    client.close()
  })
  // All calls are answered; all are unsent, because the handshake breaks; and the response to a sent call breaks.
  const small = { sizes: [4, 4, 4], turns: 1, direction: 'requests' as const }
  const large = { sizes: [3_000, 3_000], turns: 1, bytes: 500, direction: 'responses' as const }
  const examples = [{ ...small, bytes: 30_000 }, { ...small, bytes: 1 }, large].map(
    (one) => [one] as [typeof one],
  )
  await fc.assert(property, { numRuns: cases(40), examples })
  expect(Object.values(outcomeCounts).every((count) => count > 0)).toBe(true)
}, 60_000)
