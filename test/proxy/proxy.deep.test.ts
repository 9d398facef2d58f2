import { createSocket } from 'node:dgram'
import { readFileSync } from 'node:fs'
import { eventually, forFile, freePort, freshEnv, make, openClient, register, spawnService } from '../kit.ts'
import { tally, upTo } from '../kit.ts'
import type { Answer, ServiceProcess } from '../kit.ts'
import { checked, composed, configuration, startProxy, type ProxyVariables } from './proxy.ts'

/** Starts a DNS server that returns these IPv4 addresses for every name, like the DNS of a container network. */
async function openNames(addresses: string[]) {
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => socket.send(responseTo(query, addresses), port, address))
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return { address: `127.0.0.1:${socket.address().port}`, close: () => void socket.close() }
}

const header = 12
const ipv4 = 1

function responseTo(query: Buffer, addresses: string[]): Buffer {
  let end = header
  while (query[end] !== 0) end += query[end]! + 1
  const question = query.subarray(header, end + 5)
  const found = query.readUInt16BE(end + 1) === ipv4 ? addresses : []
  const head = Buffer.alloc(header)
  query.copy(head, 0, 0, 2)
  head.writeUInt16BE(0x8180, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(found.length, 6)
  return Buffer.concat([head, question, ...found.map(recordOf)])
}

/** Returns an A record of the requested name with a TTL of one second. */
const recordOf = (address: string): Buffer =>
  Buffer.from([0xc0, header, 0, ipv4, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)])

const hosts = ['127.0.0.2', '127.0.0.3']

/** All responses from one process have the same first part of X-Request-Id. */
const processOf = ({ headers }: Answer) => headers.get('x-request-id')?.split('-')[0] ?? 'nobody'
const whoAnswers = () => nobody.get('/auth/me', { connection: 'close' }).then(processOf, () => 'nobody')

const port = String(await freePort())
const fresh = await forFile(freshEnv({ TRUST_PROXY: 'on', DRAIN_DELAY_MS: '6000', SIGN_IN_FAILURES: '1' }))
const webs: ServiceProcess[] = await Promise.all(
  hosts.map((HOST) => forFile(spawnService('web', { ...fresh.env, HOST, PORT: port }))),
)
const names = await forFile(openNames(hosts))
const variables: ProxyVariables = {
  BIND: `127.0.0.1:${await freePort()}`,
  WEB: `web:${port}`,
  DNS: names.address,
}
await forFile(startProxy(variables))
const nobody = openClient(`http://${variables.BIND}`)
await eventually(
  'both processes receive requests',
  async () => new Set(await Promise.all(upTo(8).map(whoAnswers))).size === 2,
)
const ada = await register(nobody)
const projectId = (await make(ada, '/projects', { name: 'Behind' })).id

test('the proxy accepts its configuration, also with the settings of docker-compose.yml', () => {
  const settings = { ...composed.proxy.environment, BIND: '127.0.0.1:3999' } as unknown as ProxyVariables
  for (const one of [variables, settings])
    expect(checked(one)).toEqual({ status: 0, output: 'Configuration file is valid' })
})

test("the proxy's timeouts are longer than a long poll and than the time between two heartbeats of a stream", () => {
  const text = readFileSync(configuration, 'utf8')
  const seconds = [...text.matchAll(/^ {2}timeout (?:client|server) +(\d+)s$/gm)].map(([, s]) => Number(s))
  expect(seconds).toHaveLength(2)
  expect(Math.min(...seconds)).toBeGreaterThanOrEqual(25 + 15)
})

test('an open stream receives an event without delay', async () => {
  const headers = { authorization: `Bearer ${ada.token}`, accept: 'text/event-stream' }
  const end = new AbortController()
  const url = `http://${variables.BIND}/api/v1/projects/${projectId}/events`
  const stream = await fetch(url, { headers, signal: end.signal })
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
  expect((await reader.read()).value).toStartWith('retry: ')
  for (const title of ['One', 'Two']) {
    await make(ada, '/tasks', { title, projectId })
    expect((await reader.read()).value).toContain(`"title":"${title}"`)
  }
  end.abort()
})

test("the service takes the client's address from the proxy, and ignores X-Forwarded-For from the client", async () => {
  const { email } = await register(nobody)
  const guess = (forwardedFor: string) =>
    nobody.post('/auth/login', { email, password: 'wrong-1' }, { 'x-forwarded-for': forwardedFor })
  expect((await guess('198.51.100.1')).status).toBe(401)
  for (const other of ['198.51.100.2', '198.51.100.3, 10.0.0.1'])
    expect((await guess(other)).status).toBe(429)
})

test('a client cannot choose the path before the links of the service', async () => {
  const headers = { authorization: `Bearer ${ada.token}`, 'x-forwarded-prefix': '/elsewhere' }
  const response = await fetch(`http://${variables.BIND}/api/v1/tasks?projectId=${projectId}&limit=1`, {
    headers,
  })
  expect(response.headers.get('link')).toStartWith('</api/v1/tasks?')
})

test('the proxy sends no new requests to a draining process, and no request fails', async () => {
  const statuses: number[] = []
  let going = true
  const clients = upTo(4).map(async () => {
    while (going) statuses.push((await ada.get(`/projects/${projectId}`).catch(() => ({ status: 0 }))).status)
  })
  const stays = processOf(await openClient(webs[1]!.url).get('/auth/me'))
  const leaving = webs[0]!.stop()
  const answering = async () => new Set(await Promise.all(upTo(16).map(whoAnswers)))
  await eventually('only the other process', async () => [...(await answering())].join() === stays)
  // The process still accepts requests, but the proxy sends none.
  expect((await openClient(webs[0]!.url).get('/auth/me')).status).toBe(401)
  expect(await leaving).toBe(0)
  await eventually('more requests', () => statuses.length > 200)
  going = false
  await Promise.all(clients)
  expect(tally(statuses)).toEqual({ 200: statuses.length })
})

test('if no process runs, the proxy responds with 503 in the error format of the service', async () => {
  await webs[1]!.stop('SIGKILL')
  const { status, body, headers } = await nobody.get('/projects')
  expect([status, body.statusCode, headers.get('retry-after')]).toEqual([503, 503, '1'])
  expect([typeof body.message, body.error]).toEqual(['string', 'Service Unavailable'])
})
