import { afterAll, expect, spyOn, test } from 'bun:test'
import fc from 'fast-check'
import { backoffMs } from '../../clients/typescript/src/retries.ts'
import { Docket } from '../../clients/typescript/src/docket.ts'
import type { TransportOptions } from '../../clients/typescript/src/transport.ts'
import { type Message, readMessages } from '../../clients/typescript/src/feed/stream.ts'

// Without jitter, pauses that depend only on chance take no time.
const random = spyOn(Math, 'random').mockReturnValue(0)

type Step = Response | Error | 'no answer'

/** Returns a client and the list of its requests. The requests get the given responses, in order. */
function openScripted(steps: Step[], over: Partial<TransportOptions> = {}) {
  const sent: { url: string; headers: Headers; body: unknown }[] = []
  const send = async (url: string, { headers, body }: RequestInit): Promise<Response> => {
    sent.push({ url, headers: new Headers(headers), body })
    const step = steps.shift() ?? 'no answer'
    if (step === 'no answer') return new Promise(() => {})
    if (step instanceof Error) throw step
    return step
  }
  return { sent, docket: new Docket({ url: 'http://docket.test/', token: 't', fetch: send, ...over }) }
}

const task = { id: '1', title: 'Draw' }
const ok = () => Response.json(task, { status: 201 })
const failed = (status: number, headers: Record<string, string> = {}) =>
  Response.json({ statusCode: status, message: `Status ${status}`, error: '' }, { status, headers })
const now = { 'retry-after': '0' }
const create = (docket: Docket, options = {}) =>
  docket.tasks.create({ projectId: 'p', title: 'Draw' }, options)

describe('retries', () => {
  afterAll(() => random.mockRestore())

  test('retries a write with the same key and body after 429, 502, 503, 504 and a lost connection', async () => {
    const broken = new Response(new ReadableStream({ start: (one) => one.error(new TypeError('reset')) }))
    const errors = [
      failed(429, now),
      failed(502, now),
      failed(503, now),
      failed(504),
      broken,
      new TypeError('no'),
    ]
    const { docket, sent } = openScripted([...errors, ok()])
    expect(await create(docket)).toEqual(task as never)
    expect(sent).toHaveLength(7)
    const keys = new Set(sent.map(({ headers }) => headers.get('idempotency-key')))
    expect([...keys]).toEqual([expect.stringMatching(/^(\d+-?){4}$/)])
    expect(new Set(sent.map(({ body }) => body))).toEqual(new Set(['{"projectId":"p","title":"Draw"}']))
  })

  test('without Retry-After, the longest pause doubles with each retry, from 0.2 s to 10 s', () => {
    random.mockReturnValue(1)
    expect([0, 1, 2, 5, 6, 2_000].map(backoffMs)).toEqual([200, 400, 800, 6_400, 10_000, 10_000])
    random.mockReturnValue(0)
  })

  test('each call has its own key, and the caller may choose the key', async () => {
    const { docket, sent } = openScripted([ok(), ok(), ok(), ok()])
    await create(docket)
    await create(docket)
    await create(docket, { idempotencyKey: 'mine' })
    await docket.tasks.get('1')
    const keys = sent.map(({ headers }) => headers.get('idempotency-key'))
    expect(new Set(keys).size).toBe(4)
    expect(keys.slice(2)).toEqual(['mine', null])
  })

  test.each([400, 401, 403, 404, 409, 410, 412, 413, 422, 500])('does not retry %i', async (status) => {
    const { docket, sent } = openScripted([failed(status, now), ok()])
    await expect(create(docket)).rejects.toMatchObject({
      status,
      message: `Status ${status}`,
      body: { statusCode: status },
    })
    expect(sent).toHaveLength(1)
  })

  test('waits for Retry-After, in seconds or as a date, but not beyond the deadline', async () => {
    const past = failed(503, { 'retry-after': new Date(0).toUTCString() })
    const read = openScripted([past, ok()])
    await read.docket.tasks.get('1')
    expect(read.sent).toHaveLength(2)
    const tomorrow = new Date(Date.now() + 86_400_000).toUTCString()
    for (const retryAfter of ['61', tomorrow]) {
      const { docket, sent } = openScripted([failed(503, { 'retry-after': retryAfter }), ok()])
      await expect(create(docket)).rejects.toMatchObject({ name: 'UnavailableError', status: 503 })
      expect(sent).toHaveLength(1)
    }
  })

  test('at the deadline, a request without a response throws the last error', async () => {
    const silent = openScripted([], { deadlineMs: 30 })
    const error = { name: 'ConnectionError', status: 0, message: 'No response within 30 ms' }
    await expect(create(silent.docket)).rejects.toMatchObject(error)
    const { docket } = openScripted([failed(429, now)])
    const limited = { name: 'TooManyRequestsError', status: 429 }
    await expect(create(docket, { deadlineMs: 1_000 })).rejects.toMatchObject(limited)
  })

  test('retries an attempt without a response', async () => {
    const { docket, sent } = openScripted(['no answer', ok()], { attemptMs: 30 })
    expect(await create(docket)).toEqual(task as never)
    expect(sent).toHaveLength(2)
  })

  test('a signal ends requests, waits and token functions with its reason', async () => {
    const reason = new Error('enough')
    const aborted = AbortSignal.abort(reason)
    const first = openScripted([ok()])
    await expect(create(first.docket, { signal: aborted })).rejects.toBe(reason)
    expect(first.sent).toHaveLength(0)
    const noToken = () => new Promise<string>(() => {})
    const clients = [
      openScripted([]),
      openScripted([failed(503, { 'retry-after': '50' })]),
      openScripted([ok()], { token: noToken }),
    ]
    for (const { docket } of clients) {
      const end = new AbortController()
      const call = create(docket, { signal: end.signal })
      queueMicrotask(() => end.abort(reason))
      await expect(call).rejects.toBe(reason)
    }
  })

  test('without a body, options may be fields of the query or the last argument', async () => {
    const { docket, sent } = openScripted([Response.json([]), Response.json({}), Response.json({})])
    const aborted = { signal: AbortSignal.abort(new Error('enough')) }
    for (const read of [
      () => docket.tasks.list({ limit: 1, ...aborted }),
      () => docket.tasks.list({ limit: 1 }, aborted),
      () => docket.tasks.get('1', aborted),
      () => docket.tasks.delete('1', {}, aborted),
    ])
      await expect(read().then()).rejects.toThrow('enough')
    await docket.tasks.list({ limit: 1, deadlineMs: 1_000 })
    await docket.tasks.delete('1', { ifMatch: '"a"' })
    await docket.tasks.delete('1', {}, { ifMatch: '"a"' })
    expect(
      sent.map(({ url, headers }) => [url.slice(url.lastIndexOf('/')), headers.get('if-match')]),
    ).toEqual([
      ['/tasks?limit=1', null],
      ['/1', '"a"'],
      ['/1', '"a"'],
    ])
  })

  test('a token function runs before each attempt, and its error ends the call', async () => {
    let calls = 0
    const { docket, sent } = openScripted([failed(503, now), ok()], { token: async () => `t${++calls}` })
    await create(docket)
    expect(sent.map(({ headers }) => headers.get('authorization'))).toEqual(['Bearer t1', 'Bearer t2'])
    const broken = openScripted([ok()], { token: () => Promise.reject(new Error('signed out')) })
    await expect(create(broken.docket)).rejects.toThrow('signed out')
  })

  test('follows no redirect, because it may lead the token to another origin or turn a write into a read', async () => {
    const paths: string[] = []
    const server = Bun.serve({
      port: 0,
      fetch({ url }) {
        paths.push(new URL(url).pathname)
        return paths.length > 1 ? ok() : Response.redirect('/elsewhere', 301)
      },
    })
    const docket = new Docket({ url: server.url, token: 't' })
    const error = { status: 301, message: 'The service redirects to /elsewhere: use this address as url' }
    await expect(create(docket)).rejects.toMatchObject(error)
    expect(paths).toEqual(['/api/v1/tasks'])
    await server.stop()
  })

  test('the error of a token with invalid characters does not contain the token', async () => {
    const { docket, sent } = openScripted([ok()], { token: 'dkt_secret\n…' })
    await expect(docket.tasks.get('1')).rejects.toThrow(/^The token must consist of ASCII characters$/)
    expect(sent).toHaveLength(0)
  })

  test('reports a response that is not JSON, and the error text of a proxy', async () => {
    const { docket } = openScripted([new Response('<html>'), new Response('<html>', { status: 418 })])
    await expect(docket.tasks.get('1')).rejects.toMatchObject({
      status: 200,
      message: 'The response is not JSON',
    })
    await expect(docket.tasks.get('1')).rejects.toMatchObject({ status: 418, body: '<html>' })
  })

  test('requests a stream only once, and throws the error of its response', async () => {
    const { docket, sent } = openScripted([failed(404), new Response('id: 1\n\n'), new TypeError('no')])
    const open = () => docket.transport.stream('/projects/1/events', { query: { after: 0 } })
    await expect(open()).rejects.toMatchObject({ name: 'NotFoundError' })
    expect(await (await open()).text()).toBe('id: 1\n\n')
    await expect(open()).rejects.toMatchObject({ name: 'ConnectionError' })
    expect(sent[0]!.url).toBe('http://docket.test/api/v1/projects/1/events?after=0')
  })
})

test('a feed and a worker wait for the time in Retry-After, even beyond the deadline of a call', async () => {
  const wait = spyOn(globalThis, 'setTimeout')
  let sent = 0
  const busy = async () => {
    sent++
    return new Response(null, { status: 429, headers: { 'retry-after': '3600' } })
  }
  const project = new Docket({ url: 'http://docket.test', fetch: busy }).project('p')
  const stop = new AbortController()
  const options = { signal: stop.signal }
  const running = [
    project.follow({ ...options, after: 3, transport: 'poll' }).next(),
    project.mirror(options).ready,
    project.work(() => {}, options),
  ]
  const waiting = () => wait.mock.calls.filter(([, ms]) => ms === 3_600_000).length
  while (waiting() < 3) await new Promise<void>((resolve) => setImmediate(resolve))
  stop.abort()
  await Promise.all(running)
  expect(sent).toBe(3)
  wait.mockRestore()
})

test('claimNext without a wait has the deadline of the client', async () => {
  const docket = new Docket({ url: 'http://docket.test', deadlineMs: 20, fetch: () => new Promise(() => {}) })
  await expect(docket.project('p').claimNext()).rejects.toThrow(' within 20 ms')
})

test('calls that share a signal add one listener to it, and all of them end with its reason', async () => {
  const docket = new Docket({ url: 'http://docket.test', fetch: () => new Promise(() => {}) })
  const stop = new AbortController()
  const listen = spyOn(stop.signal, 'addEventListener')
  const results = Array.from({ length: 20 }, (_, n) =>
    docket.tasks.get(`task-${n}`, { signal: stop.signal }).catch((error: unknown) => error),
  )
  const reason = new Error('Enough')
  stop.abort(reason)
  expect(await Promise.all(results)).toEqual(results.map(() => reason))
  expect(listen).toHaveBeenCalledTimes(1)
})

const text =
  'retry: 1700\nid: 41\n\n: nothing new\n\n' +
  'id: 42\r\nevent: task.created\r\ndata: {"title":"Größe 🧭"}\r\n\r\n' +
  'event:end\ndata:one\ndata: two: three\ndata\n\nevent: cut off'
const messages: Message[] = [
  { event: 'message', data: '', id: '41' },
  { event: 'message', data: '' },
  { event: 'task.created', data: '{"title":"Größe 🧭"}', id: '42' },
  { event: 'end', data: 'one\ntwo: three\n' },
]

async function read(sizes: number[]): Promise<Message[]> {
  let rest = new TextEncoder().encode(text)
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const size = sizes.shift() ?? rest.length
      controller.enqueue(rest.slice(0, size))
      rest = rest.slice(size)
      if (rest.length === 0) controller.close()
    },
  })
  return Array.fromAsync(readMessages(body))
}

test('reads the same messages however the bytes arrive', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 200 })
  await fc.assert(fc.asyncProperty(sizes, async (each) => expect(await read(each)).toEqual(messages)))
  expect(await read(Array(text.length).fill(1))).toEqual(messages)
})

test('cancels the stream when the reader stops early', async () => {
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('id: 1\n\nid: 2\n\n')),
    cancel: () => void (isCancelled = true),
  })
  for await (const { id } of readMessages(body)) if (id === '1') break
  expect(isCancelled).toBe(true)
})
