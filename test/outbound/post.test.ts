import { expect, test } from 'bun:test'
import { createServer as createTlsServer } from 'node:https'
import { createServer, type Socket } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { openDestinations } from '../../src/outbound/destination.ts'
import type { Lookup } from '../../src/outbound/lookup.ts'
import { openPost } from '../../src/outbound/post.ts'
import { openReceiver } from '../webhooks/receiver.ts'
import { testCertificate } from '../support/tls-proxy.ts'
import { openForEach } from '../support/service.ts'

const forEach = openForEach()
const receiver = (...given: Parameters<typeof openReceiver>) => forEach(openReceiver(...given))
const lenient = { allowHttp: true, allowPrivate: true }
const post = (reach = lenient, look?: Lookup, timeoutMs = 2_000) =>
  openPost(openDestinations(reach, look), { timeoutMs })
const parcel = (url: string) => ({ url, body: '{"a":1}', headers: { 'x-own': '1' } })
const portOf = ({ url }: { url: string }) => new URL(url).port

test('what comes back is told, and of a long answer the beginning', async () => {
  const { url, received } = await receiver((response) => {
    response.writeHead(500, { 'retry-after': '7' })
    response.end(`é\0${'x'.repeat(5_000)}`)
  })
  const { answer, durationMs, ...told } = await post()(parcel(`${url}/a?b=c`))
  expect(told).toEqual({ status: 500, error: null, retryAfterMs: 7_000 })
  expect(Buffer.byteLength(answer)).toBeLessThanOrEqual(1_026)
  expect(answer).toStartWith('é\ufffdxxx')
  expect(durationMs).toBeGreaterThanOrEqual(0)
  expect(received).toMatchObject([
    { path: '/a?b=c', text: '{"a":1}', headers: { host: new URL(url).host, 'x-own': '1' } },
  ])
})

test('a redirect is an answer, and is not followed', async () => {
  const inside = await receiver()
  const { url } = await receiver((response) => response.writeHead(307, { location: inside.url }).end())
  expect(await post()(parcel(url))).toMatchObject({ status: 307, error: null })
  expect(inside.received).toEqual([])
})

test('who says nothing, sends no end, or sends without one, is not waited for long', async () => {
  const silent = await receiver(() => {})
  expect(await post(lenient, undefined, 100)(parcel(silent.url))).toMatchObject({
    status: null,
    error: 'No response within 0.1 s',
  })
  const dripping = await receiver((response) => response.writeHead(200).write('.'))
  expect(await post(lenient, undefined, 200)(parcel(dripping.url))).toMatchObject({
    error: 'No response within 0.2 s',
  })
  const endless = await receiver((response) => {
    const pour = () => {
      while (response.write('x'.repeat(65_536)));
      response.once('drain', pour)
    }
    pour()
  })
  expect(await post()(parcel(endless.url))).toMatchObject({ status: 200, answer: 'x'.repeat(1_024) })
  const unresolved = await post(
    lenient,
    () => new Promise(() => {}),
    100,
  )(parcel('http://hooks.example.com/'))
  expect(unresolved).toMatchObject({ status: null, error: 'No response within 0.1 s' })
})

test('it ends when it is told to', async () => {
  const { url } = await receiver(() => {})
  const over = new AbortController()
  const sent = post()({ ...parcel(url), signal: over.signal })
  setTimeout(() => over.abort(new Error('Enough')), 20)
  await expect(sent).rejects.toThrow('Enough')
})

test('a name that leads elsewhere by the time of a delivery reaches nothing, connections kept from before included', async () => {
  const inside = await receiver()
  const answers = ['127.0.0.1', '169.254.169.254', '127.0.0.1', 'fe80::1', '127.0.0.1']
  const asked: string[] = []
  const look: Lookup = async (name) => {
    asked.push(name)
    return [{ address: answers.shift()! }]
  }
  const byName = `http://hooks.example.com:${portOf(inside)}/`
  const send = post(lenient, look)
  const statuses = []
  for (const _ of [1, 2, 3, 4, 5]) statuses.push((await send(parcel(byName))).status)
  expect(statuses).toEqual([200, null, 200, null, 200])
  expect(inside.received).toHaveLength(3)
  expect(inside.received[0]!.headers.host).toBe(`hooks.example.com:${portOf(inside)}`)
  expect(asked).toEqual(Array(5).fill('hooks.example.com'))
})

test('with nothing allowed, what is private is not connected to, whatever the resolver says first', async () => {
  const inside = await receiver()
  const answers = ['93.184.215.14', '127.0.0.1']
  const look: Lookup = async () => [{ address: answers.shift() ?? '127.0.0.1' }]
  const destinations = openDestinations({ allowHttp: true, allowPrivate: false }, look)
  const url = `http://hooks.example.com:${portOf(inside)}/`
  await destinations.check(url, 1_000) // as when it is set: public
  const told = await openPost(destinations, { timeoutMs: 2_000 })(parcel(url))
  expect(told).toMatchObject({
    status: null,
    error: expect.stringContaining('must resolve to a public address'),
  })
  expect(inside.received).toEqual([])
})

test('a name without any address reaches nothing', async () => {
  const inside = await receiver()
  const reach = { allowHttp: true, allowPrivate: false }
  const told = await post(reach, async () => [])(parcel(`http://hooks.example.com:${portOf(inside)}/`))
  expect([told.error, inside.received]).toEqual(['No connection: ENOTFOUND', []])
})

test('the very address that was looked at is connected to: nothing else is asked for one', async () => {
  const { url, received } = await receiver()
  let asked = 0
  const look: Lookup = async () => [{ address: asked++ === 0 ? '127.0.0.1' : '127.0.0.2' }]
  const told = await post(lenient, look)(parcel(`http://name.that.is.nowhere.invalid:${portOf({ url })}/`))
  expect([told.status, received.length, asked]).toEqual([200, 1, 1])
})

test('where one address of a name does not answer, the next one is asked', async () => {
  const { url, received } = await receiver()
  const look: Lookup = async () => [{ address: '127.0.0.9' }, { address: '127.0.0.1' }]
  const told = await post(lenient, look)(parcel(`http://hooks.example.com:${portOf({ url })}/`))
  expect([told.status, received.length]).toEqual([200, 1])
})

test('over TLS the certificate is held to the name, and the name is told first', async () => {
  const names: unknown[] = []
  const server: Server = createTlsServer(testCertificate, (request, response) => {
    names.push([(request.socket as TLSSocket).servername, request.headers.host])
    response.end('ok')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await forEach({ close: () => void server.close() })
  const { port } = server.address() as AddressInfo
  const look: Lookup = async () => [{ address: '127.0.0.1' }]
  const untrusted = await post(lenient, look)(parcel(`https://localhost:${port}/`))
  expect(untrusted).toMatchObject({ status: null, error: 'No connection: DEPTH_ZERO_SELF_SIGNED_CERT' })
  const trusting = openPost(openDestinations(lenient, look), { timeoutMs: 2_000, ca: testCertificate.cert })
  expect(await trusting(parcel(`https://localhost:${port}/`))).toMatchObject({ status: 200 })
  expect(await trusting(parcel(`https://other.example.com:${port}/`))).toMatchObject({
    error: 'No connection: ERR_TLS_CERT_ALTNAME_INVALID',
  })
  expect(names).toEqual([['localhost', `localhost:${port}`]])
})

test('a kept connection that was closed meanwhile is no failure of the receiver', async () => {
  let count = 0
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}))
    socket.on('data', () => {
      count++
      // Every second request on a connection finds it cut.
      if (count % 2 === 0) socket.resetAndDestroy()
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await forEach({ close: () => void server.close() })
  const send = post()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  for (const _ of [1, 2, 3]) expect((await send(parcel(url))).status).toBe(200)
  expect(sockets.length).toBe(3)
})

test('of answers before the answer only some are listened to', async () => {
  let interim = 0
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(interim))
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await forEach({ close: () => void server.close() })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const after = async (count: number) => {
    interim = count
    const { status, error } = await post()(parcel(url))
    return [status, error]
  }
  expect(await after(3)).toEqual([200, null])
  expect(await after(100)).toEqual([null, 'No connection'])
})
