import { afterEach, expect, test } from 'bun:test'
import type { RpcResponse, RpcRequest } from '../../src/routing/rpc.ts'
import { HttpError } from '../../src/responses/errors.ts'
import { failureOf, limits, openPair, type Pair, reply, soon } from './pair.ts'

let pair: Pair | undefined
afterEach(() => pair?.close())

test('delivers payload and deadline unchanged, and returns the response', async () => {
  const heard: RpcRequest[] = []
  pair = await openPair((asks) => {
    heard.push(...asks)
    for (const ask of asks)
      ask.respond({ ...(reply('{"id":1}', '"v1"') as object), status: 201 } as RpcResponse)
  })
  const payload = { name: 'task.create', input: { title: 'Plate', none: null, list: [1, 2] } }
  const deadline = soon()
  expect(await pair.client.call(pair.peer, payload, deadline)).toEqual({
    kind: 'reply',
    status: 201,
    body: '{"id":1}',
    etag: '"v1"',
  })
  expect(heard.map((ask) => ask.payload)).toEqual([payload])
  // Both clocks are this process's: never later than meant, and earlier by what the handshake took at most.
  expect(heard[0]!.deadline).toBeLessThanOrEqual(deadline)
  expect(heard[0]!.deadline).toBeGreaterThan(deadline - 1_000)
})

test('returns every kind of response unchanged', async () => {
  const answers: RpcResponse[] = [
    { kind: 'reply', status: 200, body: '', etag: null, replayed: true },
    { kind: 'refusal', status: 412, message: 'Changed, "meanwhile"\n', headers: { 'x-a': 'b' } },
    { kind: 'unknown' },
    { kind: 'failed' },
    { kind: 'reply', status: 204, body: '\n[1]\n', etag: 'W/"\\"' },
  ]
  pair = await openPair((asks) => asks.forEach((ask) => ask.respond(answers[ask.payload as number]!)))
  const { client, peer } = pair
  expect(await Promise.all(answers.map((_, i) => client.call(peer, i, soon())))).toEqual(answers)
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
  pair = await openPair((asks) => asks.forEach((ask) => ask.respond(reply(String(ask.payload)))))
  const { client, peer } = pair
  const answers = await Promise.all(texts.map((text) => client.call(peer, text, soon())))
  expect(answers.map((answer) => answer.kind === 'reply' && answer.body)).toEqual(texts)
})

test('delivers a lone surrogate unchanged', async () => {
  const heard: unknown[] = []
  pair = await openPair((asks) =>
    asks.forEach((ask) => {
      heard.push(ask.payload)
      ask.respond(reply('ok'))
    }),
  )
  const odd = ['\ud83d', 'x\udc00y']
  await Promise.all(odd.map((text) => pair!.client.call(pair!.peer, text, soon())))
  expect(heard).toEqual(odd)
})

test('delivers the calls of one turn of the event loop together', async () => {
  const frames: number[] = []
  pair = await openPair((asks) => {
    frames.push(asks.length)
    asks.forEach((ask) => ask.respond(reply('ok')))
  })
  const { client, peer } = pair
  const askMany = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => client.call(peer, { i }, soon())))
  await askMany(500)
  await askMany(300)
  expect(frames).toEqual([500, 300])
})

test('matches responses to calls in any order', async () => {
  const kept: RpcRequest[] = []
  pair = await openPair((asks) => {
    kept.push(...asks)
    if (kept.length < 4) return
    for (const at of [2, 0, 3, 1]) {
      const ask = kept[at]!
      setTimeout(() => ask.respond(reply(`answer ${ask.payload}`)), at)
      setTimeout(() => ask.respond(reply('a second answer')), at + 5)
    }
  })
  const { client, peer } = pair
  const answers = await Promise.all([0, 1, 2, 3].map((i) => client.call(peer, i, soon())))
  expect(answers).toEqual([0, 1, 2, 3].map((i) => reply(`answer ${i}`)))
})

test('splits requests and responses into messages of about 1 MiB', async () => {
  const frames: number[] = []
  pair = await openPair((asks) => {
    frames.push(asks.length)
    asks.forEach((ask) => ask.respond(reply(String(ask.payload))))
  })
  const { client, peer } = pair
  const texts = Array.from({ length: 40 }, (_, i) => String(i % 10).repeat(100_000))
  const answers = await Promise.all(texts.map((text) => client.call(peer, text, soon())))
  expect(answers.map((answer) => answer.kind === 'reply' && answer.body)).toEqual(texts)
  expect(frames).toEqual([10, 10, 10, 10])
})

test('resolves a request that is larger than a message as unknown, and affects no others', async () => {
  pair = await openPair()
  const { client, peer } = pair
  const small = client.call(peer, 'small', soon())
  expect(await client.call(peer, 'x'.repeat(limits.maxBytes), soon())).toEqual({ kind: 'unknown' })
  expect(await small).toEqual(reply('"small"'))
})

test('resolves a response that is larger than a message as failed, and delivers the others', async () => {
  pair = await openPair((asks) =>
    asks.forEach((ask) => ask.respond(reply('x'.repeat(ask.payload as number)))),
  )
  const { client, peer } = pair
  const sizes = [10, limits.maxBytes, 20]
  const answers = await Promise.all(sizes.map((size) => client.call(peer, size, soon())))
  expect(answers).toEqual([reply('x'.repeat(10)), { kind: 'failed' }, reply('x'.repeat(20))])
})

test('resolves requests as failed when serving throws, except those with a response', async () => {
  pair = await openPair((asks) => {
    asks[0]!.respond(reply('done'))
    throw new Error('unexpected')
  })
  const { client, peer } = pair
  const answers = await Promise.all([1, 2].map((i) => client.call(peer, i, soon())))
  expect(answers).toEqual([reply('done'), { kind: 'failed' }])
  expect(pair.log.told.map(({ what }) => what.reason)).toEqual(['Error: unexpected'])
})

test('rejects more pending requests than allowed with 503, on either side', async () => {
  const asks: RpcRequest[] = []
  pair = await openPair((some) => void asks.push(...some), {
    server: { maxPending: 3 },
    client: { maxPending: 5 },
  })
  const { client, peer } = pair
  const all = Array.from({ length: 6 }, (_, i) => client.call(peer, i, soon()))
  const sixth = await failureOf(all[5]!)
  expect(sixth).toBeInstanceOf(HttpError)
  expect((sixth as HttpError).status).toBe(503)
  const refused = {
    kind: 'refusal',
    status: 503,
    message: 'Too many writes wait',
    headers: { 'retry-after': '1' },
  }
  expect(await all[3]).toEqual(refused as RpcResponse)
  expect(await all[4]).toEqual(refused as RpcResponse)
  asks.forEach((ask) => ask.respond(reply('ok')))
  expect(await Promise.all(all.slice(0, 3))).toEqual([reply('ok'), reply('ok'), reply('ok')])
  expect(asks.length).toBe(3)
})
