import type { RpcResponse, RpcRequest } from '../../src/routing/rpc.ts'
import { upTo } from '../kit.ts'
import { HttpError } from '../../src/responses/errors.ts'
import {
  answering,
  echo,
  echoInto,
  failureOf,
  limits,
  openPair,
  type Pair,
  reply,
  inTenSeconds,
} from './pair.ts'

let pair: Pair | undefined
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
  const texts = [
    'é',
    '\u{feff}mark',
    '𝒳🦊',
    'end\u{1f600}',
    '\u0000\u2028',
    'a'.repeat(70_000),
    '語'.repeat(9_000),
    '',
  ]
  pair = await openPair(answering((payload) => reply(String(payload))))
  const responses = await pair.callAll(texts)
  expect(responses.map((response) => response.kind === 'reply' && response.body)).toEqual(texts)
})

test('delivers a lone surrogate unchanged', async () => {
  const received: unknown[] = []
  pair = await openPair(echoInto(received))
  const loneSurrogates = ['\ud83d', 'x\udc00y']
  await pair.callAll(loneSurrogates)
  expect(received).toEqual(loneSurrogates)
})

async function countMessages(): Promise<number[]> {
  const messages: number[] = []
  pair = await openPair((requests) => {
    messages.push(requests.length)
    echo(requests)
  })
  return messages
}

test('sends all calls that are made in one turn of the event loop in one message', async () => {
  const messages = await countMessages()
  for (const count of [500, 300]) await pair!.callAll(upTo(count))
  expect(messages).toEqual([500, 300])
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
