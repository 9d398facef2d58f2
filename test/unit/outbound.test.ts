import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { createSocket } from 'node:dgram'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hash } from '@node-rs/argon2'
import { ForbiddenUrl, isReachable, openDestinations, openLookup } from '../../src/outbound/destination.ts'
import type { Lookup } from '../../src/outbound/destination.ts'
import { openPost, retryAfter } from '../../src/outbound/post.ts'
import { forFile, listen, newFolder, openForEach, words } from '../kit.ts'
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

test('parses Retry-After as seconds or as a date', () => {
  const now = Date.parse('2027-01-15T09:30:00Z')
  expect(retryAfter('120', now)).toBe(120_000)
  expect(retryAfter('Fri, 15 Jan 2027 09:31:00 GMT', now)).toBe(60_000)
  for (const none of [undefined, '', '0', '-5', 'soon', 'Fri, 15 Jan 2027 09:29:00 GMT', '9'.repeat(30)])
    expect(retryAfter(none, now)).toBeNull()
})

const strict = { allowHttp: false, allowPrivate: false }

const publicAddresses = ['1.1.1.1', '93.184.215.14', '2606:4700::1111', '::ffff:1.1.1.1', '64:ff9b::101:101']
const privateAddresses = [
  ...['127.0.0.1', '127.9.9.9', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  ...['::1', 'fc00::1', 'fd12:3456::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::7f00:1', '::ffff:c0a8:101'],
  ...['64:ff9b::a00:1', '::10.0.0.1'],
]
const forbiddenAddresses = [
  ...['169.254.169.254', '169.254.0.1', 'fe80::1', 'fe80::1%eth0', '::ffff:169.254.169.254', '::a9fe:a9fe'],
  ...['64:ff9b::a9fe:a9fe', 'fd00:ec2::254', '168.63.129.16', '::ffff:168.63.129.16', '100.100.100.200'],
  ...['0.0.0.0', '0.1.2.3', '::', '::ffff:0.0.0.0', '255.255.255.255', '224.0.0.1', 'ff02::1', '240.0.0.1'],
  ...['100.64.0.1', '192.0.0.192', '192.0.2.1', '198.18.0.1', '198.51.100.7', '203.0.113.7', '192.88.99.1'],
  ...words('fec0::1 2002:7f00:1:: 2001:0:7f00::1 2001:db8::1 100::1 5f00::1 4000::1 ::2:0:0:1'),
  ...['localhost', '1.1.1', '', '1.1.1.1.1'],
]

test('always allows public addresses, and allows private addresses only if the policy does', () => {
  for (const address of publicAddresses)
    for (const reach of [strict, lenient])
      expect([address, isReachable(address, reach)]).toEqual([address, true])
  for (const address of privateAddresses) {
    expect([address, isReachable(address, strict)]).toEqual([address, false])
    expect([address, isReachable(address, lenient)]).toEqual([address, true])
  }
  for (const address of forbiddenAddresses)
    for (const reach of [strict, lenient])
      expect([address, isReachable(address, reach)]).toEqual([address, false])
})

const isRejected = (text: string, reach = strict) => {
  try {
    openDestinations(reach).read(text)
    return false
  } catch (error) {
    if (error instanceof ForbiddenUrl) return true
    throw error
  }
}

test('rejects a URL of a forbidden address in every notation', () => {
  for (const host of [
    ...words('127.0.0.1 127.1 2130706433 0x7f000001 0x7f.1 017700000001 0177.0.0.01 127.0.0.1.'),
    ...['[::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::7f00:1]', '[0:0:0:0:0:0:0:1]', '１２７.0.0.1'],
    ...['10.1.2.3', '192.168.0.1', '[fd00::1]', '①②⑦.0.0.1', '%31%32%37.0.0.1'],
  ]) {
    expect([host, isRejected(`https://${host}/hook`)]).toEqual([host, true])
    expect([host, isRejected(`https://${host}:8443/hook`, lenient)]).toEqual([host, false])
  }
  for (const host of words(
    '169.254.169.254 2852039166 0xa9fea9fe [fe80::1] [::ffff:a9fe:a9fe] 0 0.0.0.0 [::]',
  ))
    expect([host, isRejected(`http://${host}/latest/meta-data`, lenient)]).toEqual([host, true])
  for (const url of [
    ...words(`
      http://example.com/ ftp://example.com/ file:///etc/passwd javascript:alert(1) data:,x
      example.com`),
    ...[
      'https://ada@example.com/',
      'https://ada:secret@example.com/',
      'https://:secret@example.com/',
      '',
      'https://',
    ],
    ...[`https://example.com/${'x'.repeat(2_048)}`, 'gopher://example.com/', 'unix:/var/run/docker.sock'],
    `https://example.com/${'é'.repeat(400)}`,
  ])
    expect([url, isRejected(url)]).toEqual([url, true])
  for (const url of ['ftp://example.com/', 'https://ada:secret@example.com/', 'file:///etc/passwd'])
    expect([url, isRejected(url, lenient)]).toEqual([url, true])
  for (const url of words(`
    https://example.com https://example.com:8443/a?b=c https://1.1.1.1/ https://[2606:4700::1111]/`))
    expect([url, isRejected(url)]).toEqual([url, false])
  expect(isRejected('http://example.com/', lenient)).toBe(false)
})

const resolvingTo = (...addresses: string[]) => openDestinations(strict, () => Promise.resolve(addresses))
const url = new URL('https://hooks.example.com/')

test('checks every address of a host name', async () => {
  const good = ['1.1.1.1', '2606:4700::1111']
  expect(await resolvingTo(...good).addressesOf(url)).toEqual(good)
  for (const bad of ['127.0.0.1', '10.0.0.1', '::1', '::ffff:10.0.0.1', '169.254.169.254', 'fe80::1'])
    for (const all of [
      [bad],
      ['1.1.1.1', bad],
      [bad, '1.1.1.1'],
      ['1.1.1.1', '1.0.0.1', '1.1.1.2', '1.0.0.2', bad],
    ])
      await expect(resolvingTo(...all).addressesOf(url)).rejects.toBeInstanceOf(ForbiddenUrl)
})

test('a host name without addresses fails with ENOTFOUND, and does not reach localhost', async () => {
  await expect(resolvingTo().addressesOf(url)).rejects.toMatchObject({ code: 'ENOTFOUND' })
  expect((await resolvingTo().check(url.href, 1_000)).href).toBe(url.href)
})

test('setting a URL rejects a host name with a forbidden address, and accepts a name that does not resolve yet', async () => {
  await expect(resolvingTo('127.0.0.1').check(url.href, 1_000)).rejects.toBeInstanceOf(ForbiddenUrl)
  expect((await resolvingTo('1.1.1.1').check(url.href, 1_000)).href).toBe(url.href)
  const unknown = openDestinations(strict, () => Promise.reject(new Error('ENOTFOUND')))
  expect((await unknown.check(url.href, 1_000)).href).toBe(url.href)
  const silent = openDestinations(strict, () => new Promise(() => {}))
  expect((await silent.check(url.href, 10)).href).toBe(url.href)
  await expect(openDestinations(strict).check('https://localhost/', 5_000)).rejects.toBeInstanceOf(
    ForbiddenUrl,
  )
})

let queries: string[] = []
const server = createSocket('udp4')
server.on('message', (query, { port, address }) => {
  const answer = answerTo(query)
  if (answer) server.send(answer, port, address)
})
await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve))
await forFile(server)
const hostsFile = join(await newFolder(), 'hosts')
await writeFile(hostsFile, '# own\n10.0.0.7\tinside Inside.example.com # and so on\n::7 inside\nnonsense a\n')
const lookup = openLookup(hostsFile, [`127.0.0.1:${(server.address() as AddressInfo).port}`])

/** Encodes a DNS response (RFC 1035, 4.1). `silent…` gets no response, `none…` NXDOMAIN, and `four…` no IPv6 address. */
function answerTo(query: Buffer): Buffer | undefined {
  const labels: string[] = []
  let at = 12
  for (; query[at]! > 0; at += query[at]! + 1)
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!))
  const type = query.readUInt16BE(at + 1)
  const name = labels.join('.')
  queries.push(`${name} ${type === 1 ? 'A' : 'AAAA'}`)
  if (name.startsWith('silent')) return undefined
  const isNone = name.startsWith('none')
  const address =
    type === 1 ? [192, 0, 2, 1] : name.startsWith('four') ? [] : [0x20, 1, ...Array(13).fill(0), 1]
  const count = isNone || address.length === 0 ? 0 : 1
  const head = [query[0]!, query[1]!, 0x81, isNone ? 0x83 : 0x80, 0, 1, 0, count, 0, 0, 0, 0]
  const row = count ? [0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, address.length, ...address] : []
  return Buffer.concat([Buffer.from(head), query.subarray(12, at + 5), Buffer.from(row)])
}

test('resolves names by the hosts file first, then by the name server', async () => {
  expect(await lookup('both.example.com')).toEqual(['192.0.2.1', '2001::1'])
  expect(await lookup('four.example.com.')).toEqual(['192.0.2.1'])
  await expect(lookup('none.example.com')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  queries = []
  expect(await lookup('INSIDE.')).toEqual(['10.0.0.7', '::7'])
  expect(await lookup('inside.example.com')).toEqual(['10.0.0.7'])
  for (const name of ['localhost', 'a.localhost', 'LocalHost.'])
    expect(await lookup(name)).toEqual(['127.0.0.1', '::1'])
  expect(queries).toEqual([])
})

test('a name whose DNS server does not respond delays neither other lookups nor password hashes', async () => {
  const silent = Array.from({ length: 100 }, (_, n) =>
    lookup(`silent${n}.example.com`).catch(({ code }) => code as unknown),
  )
  const isLate = Symbol('late')
  const before = Promise.race([...silent, Bun.sleep(20_000)]).then(() => isLate)
  expect(await Promise.race([before, lookup('both.example.com')])).toEqual(['192.0.2.1', '2001::1'])
  expect(await Promise.race([before, hash('secret')])).not.toBe(isLate)
  expect(new Set(await Promise.all(silent))).toEqual(new Set(['ETIMEOUT']))
}, 60_000)
