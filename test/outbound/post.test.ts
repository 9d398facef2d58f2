import { createServer as createTlsServer } from 'node:https'
import { createServer, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { openDestinations, type Lookup } from '../../src/outbound/destination.ts'
import { openPost } from '../../src/outbound/post.ts'
import { listen, openForEach } from '../kit.ts'
import { testCertificate } from '../support/tls-proxy.ts'
import { openReceiver } from '../webhooks/receiver.ts'

const forEach = openForEach()
const receiver = (...given: Parameters<typeof openReceiver>) => forEach(openReceiver(...given))
const lenient = { allowHttp: true, allowPrivate: true }
const post = (reach = lenient, lookup?: Lookup, timeoutMs = 20_000) =>
  openPost(openDestinations(reach, lookup), { timeoutMs })
const requestTo = (url: string) => ({ url, body: '{"a":1}', headers: { 'x-own': '1' } })
const portOf = ({ url }: { url: string }) => new URL(url).port

test('returns the status, the duration and the beginning of a long body', async () => {
  const { url, received } = await receiver((response) => {
    response.writeHead(500, { 'retry-after': '7' })
    response.end(`é\0${'x'.repeat(5_000)}`)
  })
  const { answer, durationMs, ...result } = await post()(requestTo(`${url}/a?b=c`))
  expect(result).toEqual({ status: 500, error: null, retryAfterMs: 7_000 })
  expect(Buffer.byteLength(answer)).toBeLessThanOrEqual(1_026)
  expect(answer).toStartWith('é\ufffdxxx')
  expect(durationMs).toBeGreaterThanOrEqual(0)
  expect(received).toMatchObject([
    { path: '/a?b=c', text: '{"a":1}', headers: { host: new URL(url).host, 'x-own': '1' } },
  ])
})

test('returns a redirect without following it, and says so', async () => {
  const inside = await receiver()
  const { url } = await receiver((response) => response.writeHead(307, { location: inside.url }).end())
  const error = 'The receiver answered 307, and redirects are not followed'
  expect(await post()(requestTo(url))).toMatchObject({
    status: 307,
    error: `${error}: set the URL to ${inside.url} if you trust it`,
  })
  expect(inside.received).toEqual([])
  const targets = { '': '', ['/x'.repeat(1_000)]: `: set the URL to ${'/x'.repeat(150)} if you trust it` }
  for (const [location, advice] of Object.entries(targets)) {
    const other = await receiver((response) => response.writeHead(307, location ? { location } : {}).end())
    expect(await post()(requestTo(other.url))).toMatchObject({ status: 307, error: error + advice })
  }
})

test('times out if the receiver sends nothing or never ends its response, and reads only the beginning of an endless body', async () => {
  const silent = await receiver(() => {})
  expect(await post(lenient, undefined, 100)(requestTo(silent.url))).toMatchObject({
    status: null,
    error: 'No response within 0.1 s',
  })
  const dripping = await receiver((response) => response.writeHead(200).write('.'))
  expect(await post(lenient, undefined, 200)(requestTo(dripping.url))).toMatchObject({
    error: 'No response within 0.2 s',
  })
  const endless = await receiver((response) => {
    const pour = () => {
      while (response.write('x'.repeat(65_536)));
      response.once('drain', pour)
    }
    pour()
  })
  expect(await post()(requestTo(endless.url))).toMatchObject({ status: 200, answer: 'x'.repeat(1_024) })
  const neverResolving = post(lenient, () => new Promise(() => {}), 100)
  const unresolved = await neverResolving(requestTo('http://hooks.example.com/'))
  expect(unresolved).toMatchObject({ status: null, error: 'No response within 0.1 s' })
})

test("rejects with the signal's reason when the signal is aborted", async () => {
  const { url } = await receiver(() => {})
  const over = new AbortController()
  const sent = post()({ ...requestTo(url), signal: over.signal })
  setTimeout(() => over.abort(new Error('Enough')), 20)
  await expect(sent).rejects.toThrow('Enough')
})

test('resolves the host name for each request, and rejects a forbidden address even with an open connection', async () => {
  const inside = await receiver()
  const answers = ['127.0.0.1', '169.254.169.254', '127.0.0.1', 'fe80::1', '127.0.0.1']
  const lookups: string[] = []
  const lookup: Lookup = async (name) => {
    lookups.push(name)
    return [answers.shift()!]
  }
  const byName = `http://hooks.example.com:${portOf(inside)}/`
  const send = post(lenient, lookup)
  const statuses = []
  for (const _ of [1, 2, 3, 4, 5]) statuses.push((await send(requestTo(byName))).status)
  expect(statuses).toEqual([200, null, 200, null, 200])
  expect(inside.received).toHaveLength(3)
  expect(inside.received[0]!.headers.host).toBe(`hooks.example.com:${portOf(inside)}`)
  expect(lookups).toEqual(Array(5).fill('hooks.example.com'))
})

test('does not connect to a private address when the host name resolves differently after the check', async () => {
  const inside = await receiver()
  const answers = ['93.184.215.14', '127.0.0.1']
  const lookup: Lookup = async () => [answers.shift() ?? '127.0.0.1']
  const destinations = openDestinations({ allowHttp: true, allowPrivate: false }, lookup)
  const url = `http://hooks.example.com:${portOf(inside)}/`
  // The first look-up, for the check, returns a public address.
  await destinations.check(url, 1_000)
  const result = await openPost(destinations, { timeoutMs: 2_000 })(requestTo(url))
  expect(result).toMatchObject({
    status: null,
    error: expect.stringContaining('must resolve to a public address'),
  })
  expect(inside.received).toEqual([])
})

test('fails with ENOTFOUND for a host name without addresses', async () => {
  const inside = await receiver()
  const reach = { allowHttp: true, allowPrivate: false }
  const result = await post(reach, async () => [])(requestTo(`http://hooks.example.com:${portOf(inside)}/`))
  expect([result.error, inside.received]).toEqual(['No connection: ENOTFOUND', []])
})

test('connects to exactly the checked address, without another lookup', async () => {
  const { url, received } = await receiver()
  let lookups = 0
  const lookup: Lookup = async () => [lookups++ === 0 ? '127.0.0.1' : '127.0.0.2']
  const result = await post(lenient, lookup)(requestTo(`http://nowhere.invalid:${portOf({ url })}/`))
  expect([result.status, received.length, lookups]).toEqual([200, 1, 1])
})

test('connects to the next address of a host name if the first address does not accept connections', async () => {
  const { url, received } = await receiver()
  const lookup: Lookup = async () => ['127.0.0.9', '127.0.0.1']
  const result = await post(lenient, lookup)(requestTo(`http://hooks.example.com:${portOf({ url })}/`))
  expect([result.status, received.length]).toEqual([200, 1])
})

test('verifies the TLS certificate against the host name, and sends SNI', async () => {
  const names: unknown[] = []
  const server = createTlsServer(testCertificate, (request, response) => {
    names.push([(request.socket as TLSSocket).servername, request.headers.host])
    response.end('ok')
  })
  const { port } = await forEach(listen(server))
  const lookup: Lookup = async () => ['127.0.0.1']
  const untrusted = await post(lenient, lookup)(requestTo(`https://localhost:${port}/`))
  expect(untrusted).toMatchObject({ status: null, error: 'No connection: DEPTH_ZERO_SELF_SIGNED_CERT' })
  const trusting = openPost(openDestinations(lenient, lookup), { timeoutMs: 2_000, ca: testCertificate.cert })
  expect(await trusting(requestTo(`https://localhost:${port}/`))).toMatchObject({ status: 200 })
  expect(await trusting(requestTo(`https://other.example.com:${port}/`))).toMatchObject({
    error: 'No connection: ERR_TLS_CERT_ALTNAME_INVALID',
  })
  expect(names).toEqual([['localhost', `localhost:${port}`]])
})

test('repeats a request on a new connection when the receiver has closed the reused one', async () => {
  let count = 0
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}))
    socket.on('data', () => {
      count++
      // Resets the connection at every second request.
      if (count % 2 === 0) socket.resetAndDestroy()
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    })
  })
  const { url } = await forEach(listen(server))
  const send = post()
  for (const _ of [1, 2, 3]) expect((await send(requestTo(url))).status).toBe(200)
  expect(sockets.length).toBe(3)
})

test('rejects a response with too many interim (1xx) responses', async () => {
  let interim = 0
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(interim))
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    })
  })
  const { url } = await forEach(listen(server))
  const after = async (count: number) => {
    interim = count
    const { status, error } = await post()(requestTo(url))
    return [status, error]
  }
  expect(await after(3)).toEqual([200, null])
  expect(await after(100)).toEqual([null, 'No connection'])
})
