import { spyOn } from 'bun:test'
import { backoffMs } from '../../clients/typescript/src/retries.ts'
import { Docket } from '../../clients/typescript/src/docket.ts'
import type { TransportOptions } from '../../clients/typescript/src/transport.ts'

// Without jitter, pauses that depend only on chance take no time.
const random = spyOn(Math, 'random').mockReturnValue(0)
afterAll(() => random.mockRestore())

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
const failed = (status: number, retryAfter = '0') =>
  Response.json(
    { statusCode: status, message: `Status ${status}`, error: '' },
    { status, headers: { 'retry-after': retryAfter } },
  )
const broken = () => new Response(new ReadableStream({ start: (one) => one.error(new TypeError('reset')) }))
const past = new Date(0).toUTCString()
const tomorrow = new Date(Date.now() + 86_400_000).toUTCString()
const create = (docket: Docket, options = {}) =>
  docket.tasks.create({ projectId: 'p', title: 'Draw' }, options)

test.each<[what: string, steps: Step[], over?: Partial<TransportOptions>]>([
  ['429, 502, 503 and 504', [failed(429), failed(502), failed(503), failed(504)]],
  ['lost connections', [broken(), new TypeError('no')]],
  ['a time to wait that has passed', [failed(503, past)]],
  ['an attempt without a response', ['no answer'], { attemptMs: 30 }],
])('repeats a write after %s with the same key and body', async (_, steps, over = {}) => {
  const attempts = steps.length + 1
  const { docket, sent } = openScripted([...steps, ok()], over)
  expect(await create(docket)).toEqual(task as never)
  const [key] = sent.map(({ headers }) => headers.get('idempotency-key'))
  expect(key).toMatch(/^(\d+-?){4}$/)
  const parts = sent.map(({ headers, body }) => [headers.get('idempotency-key'), body])
  expect(parts).toEqual(Array(attempts).fill([key, '{"projectId":"p","title":"Draw"}']))
})

const page = (status: number) => new Response('<html>', { status })
const silent = { name: 'ConnectionError', status: 0, message: 'No response within 30 ms' }

test.each<[what: string, step: Step, error: object, over?: Partial<TransportOptions>]>([
  ...[400, 401, 403, 404, 409, 410, 412, 413, 422, 500].map((status): [string, Step, object] => [
    ...([`${status}`, failed(status)] as const),
    { status, message: `Status ${status}`, body: { statusCode: status } },
  ]),
  ['a wait beyond the deadline', failed(503, '61'), { name: 'UnavailableError', status: 503 }],
  ['a time beyond the deadline', failed(503, tomorrow), { name: 'UnavailableError', status: 503 }],
  ['no response until the deadline', 'no answer', silent, { deadlineMs: 30 }],
  ['a response that is not JSON', page(200), { status: 200, message: 'The response is not JSON' }],
  ['an error of a proxy', page(418), { status: 418, body: '<html>' }],
])('throws after %s, and does not retry', async (_, step, error, over = {}) => {
  const { docket, sent } = openScripted([step, step === 'no answer' ? step : ok()], over)
  await expect(create(docket)).rejects.toMatchObject(error)
  expect(sent).toHaveLength(1)
})

test('at the deadline, throws the last error', async () => {
  const { docket } = openScripted([failed(429)])
  const limited = { name: 'TooManyRequestsError', status: 429 }
  await expect(create(docket, { deadlineMs: 1_000 })).rejects.toMatchObject(limited)
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

test('a signal ends requests, waits and token functions with its reason', async () => {
  const reason = new Error('enough')
  const aborted = openScripted([ok()])
  await expect(create(aborted.docket, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  expect(aborted.sent).toHaveLength(0)
  const noToken = () => new Promise<string>(() => {})
  for (const { docket } of [
    openScripted([]),
    openScripted([failed(503, '50')]),
    openScripted([ok()], { token: noToken }),
  ]) {
    const end = new AbortController()
    const call = create(docket, { signal: end.signal })
    queueMicrotask(() => end.abort(reason))
    await expect(call).rejects.toBe(reason)
  }
})

test('calls that share a signal add one listener to it, and all of them end with its reason', async () => {
  const { docket } = openScripted([])
  const stop = new AbortController()
  const listen = spyOn(stop.signal, 'addEventListener')
  const reason = new Error('enough')
  const calls = Array.from({ length: 20 }, () =>
    docket.tasks.get('1', { signal: stop.signal }).catch((error: unknown) => error),
  )
  stop.abort(reason)
  expect(await Promise.all(calls)).toEqual(calls.map(() => reason))
  expect(listen).toHaveBeenCalledTimes(1)
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
  expect(sent.map(({ url, headers }) => [url.slice(url.lastIndexOf('/')), headers.get('if-match')])).toEqual([
    ['/tasks?limit=1', null],
    ['/1', '"a"'],
    ['/1', '"a"'],
  ])
})

test('a token function runs before each attempt, and its error ends the call', async () => {
  let calls = 0
  const { docket, sent } = openScripted([failed(503), ok()], { token: async () => `t${++calls}` })
  await create(docket)
  expect(sent.map(({ headers }) => headers.get('authorization'))).toEqual(['Bearer t1', 'Bearer t2'])
  const rejecting = openScripted([ok()], { token: () => Promise.reject(new Error('signed out')) })
  await expect(create(rejecting.docket)).rejects.toThrow('signed out')
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

test('requests a file only once, and throws the error of its response', async () => {
  const { docket, sent } = openScripted([failed(503), new Response('{}\n'), new TypeError('no')])
  const read = () => docket.projects.export({ projectId: '1', asOf: 2 })
  await expect(read()).rejects.toMatchObject({ name: 'UnavailableError' })
  expect(await (await read()).text()).toBe('{}\n')
  await expect(read()).rejects.toMatchObject({ name: 'ConnectionError' })
  expect(sent[0]!.url).toBe('http://docket.test/api/v1/projects/1/export?asOf=2')
})

test('a feed and a worker wait for the time in Retry-After, even beyond the deadline of a call', async () => {
  const wait = spyOn(globalThis, 'setTimeout')
  const { docket, sent } = openScripted(Array.from({ length: 4 }, () => failed(429, '3600')))
  const project = docket.project('p')
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
  expect(sent).toHaveLength(3)
  wait.mockRestore()
})

test('claimNext without a wait has the deadline of the client', async () => {
  const { docket } = openScripted([], { deadlineMs: 20 })
  await expect(docket.project('p').claimNext()).rejects.toThrow(' within 20 ms')
})
