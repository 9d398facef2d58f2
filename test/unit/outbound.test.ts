import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { createSocket } from 'node:dgram'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hash } from '@node-rs/argon2'
import { ForbiddenUrl, isReachable, openDestinations, openLookup } from '../../src/outbound/post.ts'
import type { Lookup } from '../../src/outbound/post.ts'
import { openPost, retryAfter } from '../../src/outbound/post.ts'
import { forFile, listen, newFolder, openForEach, readYaml, upTo, words } from '../kit.ts'
import { testCertificate } from '../support/tls-proxy.ts'
import { openReceiver, type Respond } from '../webhooks/receiver.ts'

const forEach = openForEach()
const receiver = (respond?: Respond) => forEach(openReceiver(respond))
const lenient = { allowHttp: true, allowPrivate: true }
const strict = { allowHttp: false, allowPrivate: false }
const post = (reach = lenient, lookup?: Lookup, timeoutMs = 20_000) =>
  openPost(openDestinations(reach, lookup), { timeoutMs })
const requestTo = (url: string) => ({ url, body: '{"a":1}', headers: { 'x-own': '1' } })
const portOf = ({ url }: { url: string }) => new URL(url).port
const byName = (one: { url: string }) => requestTo(`http://hooks.example.com:${portOf(one)}/`)
const resolvesTo = (...addresses: string[]) => ({ lookup: async () => addresses })

interface Setup {
  respond?: Respond
  lookup?: Lookup
  reach?: typeof lenient
}

const answer =
  (status: number, headers = {}, body = ''): Respond =>
  (response) =>
    response.writeHead(status, headers).end(body)
const pour: Respond = (response) => {
  while (response.write('x'.repeat(65_536)));
  response.once('drain', () => pour(response, undefined as never))
}
const interim =
  (count: number): Respond =>
  (response) => {
    for (const _ of upTo(count)) response.writeProcessing()
    response.end()
  }
const upgrade: Respond = ({ socket }) =>
  socket!.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
const late = { status: null, error: 'No response within 0.2 s' }
const onlyPublic = { allowHttp: true, allowPrivate: false }

test.each<[string, Setup, object]>([
  [
    'returns the status and the beginning of a long body',
    { respond: answer(500, { 'retry-after': '7' }, `é\0${'x'.repeat(5_000)}`) },
    { status: 500, error: null, retryAfterMs: 7_000, answer: expect.stringMatching(/^é\ufffdx{900,1021}$/) },
  ],
  [
    'does not follow a redirect',
    { respond: answer(307, { location: '/again' }) },
    { status: 307, error: 'The receiver answered 307, and redirects are not followed', requests: 1 },
  ],
  ['times out without a response', { respond: () => {} }, late],
  ['times out if the body does not end', { respond: (response) => response.write('.') }, late],
  ['reads the beginning of an endless body', { respond: pour }, { status: 200, answer: 'x'.repeat(1_024) }],
  ['times out if the receiver switches to another protocol', { respond: upgrade }, late],
  ['times out if the name does not resolve', { lookup: () => new Promise(() => {}) }, late],
  ['accepts a few interim responses', { respond: interim(3) }, { status: 200, error: null }],
  ['rejects many interim responses', { respond: interim(100) }, { status: null, error: 'No connection' }],
  ['tries the next address', resolvesTo('127.0.0.9', '127.0.0.1'), { status: 200, requests: 1 }],
  ['to a name without addresses fails', resolvesTo(), { error: 'No connection: ENOTFOUND', requests: 0 }],
  [
    'connects to no private address, unless the operator allows it',
    { ...resolvesTo('127.0.0.1'), reach: onlyPublic },
    { status: null, error: expect.stringContaining('must resolve to a public address'), requests: 0 },
  ],
])('a request %s', async (_, { respond, lookup, reach }, result) => {
  const { url, received } = await receiver(respond)
  const request = lookup ? byName({ url }) : requestTo(`${url}/a?b=c`)
  const sent = await post(reach, lookup, result === late ? 200 : undefined)(request)
  expect({ ...sent, requests: received.length }).toMatchObject({ durationMs: expect.any(Number), ...result })
  const { pathname, search, host } = new URL(request.url)
  for (const one of received)
    expect(one).toMatchObject({ path: pathname + search, text: '{"a":1}', headers: { host, 'x-own': '1' } })
})

test('repeats a request if the receiver was closing the connection', async () => {
  const one = await receiver((response) => {
    if (one.received.length % 2 === 0) response.socket!.destroy()
    else response.end()
  })
  const send = post()
  for (const _ of upTo(3)) expect((await send(requestTo(one.url))).status).toBe(200)
  expect(one.received).toHaveLength(5)
})

const slowServer = `require('node:net').createServer((socket) =>
  socket.once('data', () => socket.end('HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n'))
).listen({ port: 0, host: '127.0.0.1' }, function () { console.log(this.address().port) })`

test('waits for a slow connection to an address although another address is unreachable', async () => {
  const child = spawn(process.execPath, ['-e', slowServer], { stdio: ['ignore', 'pipe', 'inherit'] })
  await forEach({ close: () => void child.kill('SIGKILL') })
  const [printed] = await once(child.stdout, 'data')
  child.kill('SIGSTOP')
  // The backlog of the stopped server has 513 places. TCP repeats the first packet of further connections after 1 s.
  const waiting = upTo(600).map(() => connect(Number(printed), '127.0.0.1').on('error', () => {}))
  await sleep(100)
  setTimeout(() => child.kill('SIGCONT'), 500)
  const { lookup } = resolvesTo('127.0.0.1', '127.0.0.9')
  const sent = await post(lenient, lookup)(requestTo(`http://hooks.example.com:${Number(printed)}/`))
  expect(sent).toMatchObject({ status: 200, error: null })
  for (const socket of waiting) socket.destroy()
})

test("rejects with the signal's reason when the signal is aborted", async () => {
  const { url } = await receiver(() => {})
  const over = new AbortController()
  const sent = post()({ ...requestTo(url), signal: over.signal })
  setTimeout(() => over.abort(new Error('Enough')), 20)
  await expect(sent).rejects.toThrow('Enough')
})

test('resolves the host name once for each request, and rejects a forbidden address even with an open connection', async () => {
  const inside = await receiver()
  const answers = ['127.0.0.1', '169.254.169.254', '127.0.0.1', 'fe80::1', '127.0.0.1']
  const lookups: string[] = []
  const send = post(lenient, async (name) => {
    lookups.push(name)
    return [answers.shift()!]
  })
  const statuses: unknown[] = []
  for (const _ of upTo(5)) statuses.push((await send(byName(inside))).status)
  expect(statuses).toEqual([200, null, 200, null, 200])
  expect(inside.received).toHaveLength(3)
  expect(inside.received[0]!.headers.host).toBe(`hooks.example.com:${portOf(inside)}`)
  expect(lookups).toEqual(Array(5).fill('hooks.example.com'))
})

test('verifies the TLS certificate against the host name, and sends SNI', async () => {
  const names: unknown[] = []
  const server = createTlsServer(testCertificate, (request, response) => {
    names.push([(request.socket as TLSSocket).servername, request.headers.host])
    response.end('ok')
  })
  const { port } = await forEach(listen(server))
  const lookup: Lookup = async () => ['127.0.0.1']
  const trusting = openPost(openDestinations(lenient, lookup), { timeoutMs: 2_000, ca: testCertificate.cert })
  const error = (code: string) => ({ status: null, error: `No connection: ${code}` })
  for (const [send, host, result] of [
    [post(lenient, lookup), 'localhost', error('DEPTH_ZERO_SELF_SIGNED_CERT')],
    [trusting, 'localhost', { status: 200 }],
    [trusting, 'other.example.com', error('ERR_TLS_CERT_ALTNAME_INVALID')],
  ] as const)
    expect(await send(requestTo(`https://${host}:${port}/`))).toMatchObject(result)
  expect(names).toEqual([['localhost', `localhost:${port}`]])
})

test('parses Retry-After as seconds or as a date', () => {
  const now = Date.parse('2027-01-15T09:30:00Z')
  expect(retryAfter('120', now)).toBe(120_000)
  expect(retryAfter('Fri, 15 Jan 2027 09:31:00 GMT', now)).toBe(60_000)
  for (const none of [undefined, '', '0', '-5', 'soon', 'Fri, 15 Jan 2027 09:29:00 GMT', '9'.repeat(30)])
    expect(retryAfter(none, now)).toBeNull()
})

const parsed = readYaml<Record<string, (string | string[])[]>>('test/unit/addresses.yaml')
const listed = (name: string) => parsed[name]!.flat()

test.each([
  ['public', true, true],
  ['private', false, true],
  ['forbidden', false, false],
])('%s addresses are reachable as the policy says', (name, isAllowed, isAllowedByLenient) => {
  for (const address of listed(name))
    expect([address, isReachable(address, strict), isReachable(address, lenient)]).toEqual([
      ...[address, isAllowed, isAllowedByLenient],
    ])
})

const isRejected = (text: string, reach: typeof strict) => {
  try {
    openDestinations(reach).read(text)
    return false
  } catch (error) {
    if (error instanceof ForbiddenUrl) return true
    throw error
  }
}

const allowed = words(
  'https://example.com https://example.com:8443/a?b=c https://1.1.1.1/ https://[2606:4700::1111]/',
)
const tooLong = [`https://example.com/${'x'.repeat(2_048)}`, `https://example.com/${'é'.repeat(400)}`]
const urlsOf = (name: string) => listed(name).map((host) => `https://${host}:8443/`)

test.each<[string, string[], isRejected: boolean, isRejectedByLenient: boolean]>([
  ['a private host', urlsOf('privateHosts'), true, false],
  ['a forbidden host', urlsOf('forbiddenHosts'), true, true],
  ['an allowed URL', allowed, false, false],
  ['a URL without TLS', ['http://example.com/'], true, false],
  ['an invalid URL', [...listed('wrongUrls'), ...tooLong], true, true],
])('%s in any notation is rejected as the policy says', (_, urls, strictly, leniently) => {
  for (const url of urls)
    expect([url, isRejected(url, strict), isRejected(url, lenient)]).toEqual([url, strictly, leniently])
})

const resolvingTo = (...addresses: string[]) => openDestinations(strict, async () => addresses)
const url = new URL('https://hooks.example.com/')

test('checks every address of a host name', async () => {
  const good = ['1.1.1.1', '2606:4700::1111']
  expect(await resolvingTo(...good).addressesOf(url)).toEqual(good)
  for (const bad of words('127.0.0.1 10.0.0.1 ::1 ::ffff:10.0.0.1 169.254.169.254 fe80::1'))
    for (const all of [
      [bad],
      ['1.1.1.1', bad],
      [bad, '1.1.1.1'],
      [...words('1.1.1.1 1.0.0.1 1.1.1.2 1.0.0.2'), bad],
    ])
      await expect(resolvingTo(...all).addressesOf(url)).rejects.toBeInstanceOf(ForbiddenUrl)
  await expect(resolvingTo().addressesOf(url)).rejects.toMatchObject({ code: 'ENOTFOUND' })
})

test('setting a URL rejects a host name with a forbidden address, and accepts a name that does not resolve yet', async () => {
  await expect(resolvingTo('127.0.0.1').check(url.href, 1_000)).rejects.toBeInstanceOf(ForbiddenUrl)
  const localhost = openDestinations(strict).check('https://localhost/', 5_000)
  await expect(localhost).rejects.toBeInstanceOf(ForbiddenUrl)
  const unresolved = [() => Promise.reject(new Error('ENOTFOUND')), () => new Promise<never>(() => {})]
  const accepting = [
    ...unresolved.map((lookup) => openDestinations(strict, lookup)),
    resolvingTo(),
    resolvingTo('1.1.1.1'),
  ]
  for (const { check } of accepting) expect((await check(url.href, 10)).href).toBe(url.href)
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
  const isFour = query.readUInt16BE(at + 1) === 1
  const name = labels.join('.')
  queries.push(name)
  if (name.startsWith('silent')) return undefined
  const isNone = name.startsWith('none')
  const address = isFour ? [192, 0, 2, 1] : [0x20, 1, ...Array(13).fill(0), 1]
  const hasAddress = !isNone && (isFour || !name.startsWith('four'))
  const head = [query[0]!, query[1]!, 0x81, isNone ? 0x83 : 0x80, 0, 1, 0, hasAddress ? 1 : 0, 0, 0, 0, 0]
  const row = [0xc0, 12, 0, isFour ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, address.length, ...address]
  return Buffer.concat([Buffer.from(head), query.subarray(12, at + 5), Buffer.from(hasAddress ? row : [])])
}

test('resolves names by the hosts file first, then by the name server', async () => {
  expect(await lookup('both.example.com')).toEqual(['192.0.2.1', '2001::1'])
  expect(await lookup('four.example.com.')).toEqual(['192.0.2.1'])
  await expect(lookup('none.example.com')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  queries = []
  expect(await lookup('INSIDE.')).toEqual(['10.0.0.7', '::7'])
  expect(await lookup('inside.example.com')).toEqual(['10.0.0.7'])
  for (const name of ['localhost', 'a.localhost', 'LocalHost.'])
    expect(await lookup(name)).toEqual(['127.0.0.1'])
  expect(queries).toEqual([])
})

test('a name whose DNS server does not respond delays neither other lookups nor password hashes', async () => {
  let ended = 0
  for (const n of upTo(100)) void lookup(`silent${n}.example.com`).catch(() => ended++)
  expect(await lookup('both.example.com')).toEqual(['192.0.2.1', '2001::1'])
  await hash('secret')
  expect(ended).toBe(0)
})
