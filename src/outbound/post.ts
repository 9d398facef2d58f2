import ipaddr from 'ipaddr.js'
import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { Agent as HttpAgent, type ClientRequest, request as viaHttp, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as viaHttps } from 'node:https'
import { isIP } from 'node:net'
import type { Config } from '../config.ts'
import { hostnameOf } from '../hosts.ts'
import { within } from '../waits.ts'

const defaultTimeoutMs = 15_000

export function openOutbound({
  webhookAllowHttp: allowHttp,
  webhookAllowPrivate: allowPrivate,
}: Pick<Config, 'webhookAllowHttp' | 'webhookAllowPrivate'>) {
  const destinations = openDestinations({ allowHttp, allowPrivate })
  return { destinations, post: openPost(destinations, { timeoutMs: defaultTimeoutMs }) }
}

/** Posts JSON. Connects only to checked addresses, and follows no redirect. */
export function openPost(destinations: Destinations, { timeoutMs, ca }: { timeoutMs: number; ca?: string }) {
  const http = { request: viaHttp, agent: new HttpAgent(agentOptions) }
  const https = { request: viaHttps, agent: new HttpsAgent({ ...agentOptions, ca }) }

  async function attempt({ url: text, body, headers }: OutboundRequest, signal: AbortSignal) {
    const url = destinations.read(text)
    const { request, agent } = url.protocol === 'https:' ? https : http
    const addresses = await destinations.addressesOf(url)
    signal.throwIfAborted()
    const found = addresses.slice(0, maxAddresses).map((address) => ({ address, family: isIP(address) }))
    const outgoing = request(url, {
      method: 'POST',
      agent,
      lookup: (_, __, connect) => connect(null, found),
      headers: {
        ...headers,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    })
    signal.addEventListener('abort', () => void outgoing.destroy(signal.reason as Error))
    return readResponse(outgoing, body)
  }

  return async (request: OutboundRequest) => {
    request.signal?.throwIfAborted()
    const startedAt = performance.now()
    const abort = new AbortController()
    const timeout = new Error(`No response within ${timeoutMs / 1000} s`)
    const timer = setTimeout(() => abort.abort(timeout), timeoutMs)
    const stop = () => abort.abort()
    request.signal?.addEventListener('abort', stop)
    try {
      const responding = attempt(request, abort.signal).catch((error: unknown) => {
        if (!isLost(error)) throw error
        return attempt(request, abort.signal)
      })
      // Without this race, the wait would never end after a response 101, because the runtime then emits no event.
      const response = await unlessAborted(responding, abort.signal).catch((error: unknown) => {
        request.signal?.throwIfAborted()
        const reason = error === timeout ? timeout.message : reasonOf(error)
        return { status: null, error: reason, answer: '', retryAfterMs: null }
      })
      return { ...response, durationMs: Math.round(performance.now() - startedAt) }
    } finally {
      clearTimeout(timer)
      request.signal?.removeEventListener('abort', stop)
    }
  }
}

/** Administrators of the webhook see the reason, so it must not reveal internal addresses. */
function reasonOf(error: unknown): string {
  if (error instanceof ForbiddenUrl) return `The URL ${error.message}`
  const { code } = error as NodeJS.ErrnoException
  return code ? `No connection: ${code}` : 'No connection'
}

/** The receiver may have been closing the connection when the request was sent. A second connection is new. */
const isLost = (error: unknown) =>
  ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '')

/** The listener is never removed, so the signal must not outlive the promise. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason))
  return Promise.race([work, promise])
}

/** Interim responses (1xx) before the final response. An endless series of them would block the event loop. */
const maxInterim = 10
const agentOptions = {
  // Sockets close before a usual receiver closes them, so that few requests are sent on a connection that is closing.
  ...{ keepAlive: true, maxFreeSockets: 64, timeout: 1_000 },
  // The time to connect to an address before the next one. The default of 250 ms is too short for distant receivers.
  autoSelectFamilyAttemptTimeout: 3_000,
}

interface OutboundRequest {
  url: string
  body: string
  headers: Record<string, string>
  signal?: AbortSignal
}

function readResponse(outgoing: ClientRequest, body: string): Promise<ResponseSummary> {
  const { promise, resolve, reject } = Promise.withResolvers<ResponseSummary>()
  outgoing.on('error', reject)
  let interim = 0
  outgoing.on('information', () => {
    if (++interim > maxInterim) outgoing.destroy(new Error('Too many interim responses'))
  })
  outgoing.on('response', (response) => {
    const chunks: Buffer[] = []
    let length = 0
    const done = () => resolve(summarize(response, Buffer.concat(chunks)))
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      if (length < maxAnswerBytes) return
      done()
      outgoing.destroy()
    })
    for (const end of ['end', 'error', 'close']) response.on(end, done)
  })
  outgoing.end(body)
  return promise
}

const maxAnswerBytes = 1_024

interface ResponseSummary {
  status: number | null
  error: string | null
  answer: string
  retryAfterMs: number | null
}

const isRedirect = (status = 0): boolean => status >= 300 && status < 400 && status !== 304

const summarize = (response: IncomingMessage, body: Buffer): ResponseSummary => ({
  status: response.statusCode ?? null,
  error: isRedirect(response.statusCode)
    ? `The receiver answered ${response.statusCode}, and redirects are not followed`
    : null,
  answer: new TextDecoder().decode(body.subarray(0, maxAnswerBytes)).replaceAll('\0', '\ufffd'),
  retryAfterMs: retryAfter(response.headers['retry-after']),
})

/** Parses seconds or a date (RFC 9110, section 10.2.3). */
export function retryAfter(header: string | undefined, now = Date.now()): number | null {
  if (!header) return null
  const ms = /^\d{1,9}$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now
  return ms > 0 ? ms : null
}

const maxUrlCharacters = 2_048
const maxAddresses = 4

export class ForbiddenUrl extends Error {}

type Destinations = ReturnType<typeof openDestinations>

export function openDestinations(policy: AddressPolicy, lookup: Lookup = openLookup()) {
  function read(text: string): URL {
    const url = URL.parse(text)
    if (!url || url.href.length > maxUrlCharacters)
      throw new ForbiddenUrl(`must be a URL with at most ${maxUrlCharacters} characters, percent-encoded`)
    if (url.protocol !== 'https:' && !(policy.allowHttp && url.protocol === 'http:'))
      throw new ForbiddenUrl(
        'must begin with https://, or http:// if the operator sets WEBHOOK_ALLOW_HTTP=on',
      )
    if (url.username || url.password) throw new ForbiddenUrl('must not contain a user name or a password')
    const hostname = hostnameOf(url)
    if (isIP(hostname)) requireReachable([hostname], policy)
    return url
  }

  /** @throws ForbiddenUrl when one of the addresses is forbidden */
  async function addressesOf(url: URL): Promise<string[]> {
    const hostname = hostnameOf(url)
    const addresses = isIP(hostname) ? [hostname] : await lookup(hostname)
    // Without an address, node:http would connect to localhost.
    if (addresses.length === 0)
      throw Object.assign(new Error('The name has no address'), { code: 'ENOTFOUND' })
    requireReachable(addresses, policy)
    return addresses
  }

  return {
    read,
    addressesOf,
    /** Accepts a name that does not resolve yet: each request resolves the name again. @throws ForbiddenUrl */
    async check(text: string, waitMs: number): Promise<URL> {
      const url = read(text)
      await within(waitMs, addressesOf(url)).catch((error: unknown) => {
        if (error instanceof ForbiddenUrl) throw error
      })
      return url
    },
  }
}

function requireReachable(addresses: string[], policy: AddressPolicy): void {
  if (addresses.every((address) => isReachable(address, policy))) return
  throw new ForbiddenUrl(
    'must resolve to a public address, or a private one if the operator sets WEBHOOK_ALLOW_PRIVATE=on',
  )
}

type AddressPolicy = { allowHttp: boolean; allowPrivate: boolean }

const privateRanges = ['loopback', 'private', 'uniqueLocal']
/** Metadata services of cloud providers, outside the link-local networks. */
const metadataAddresses = ['168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254'].map((text) => ipaddr.parse(text))
const globalIPv6 = ipaddr.parseCIDR('2000::/3')
/** IPv6 networks whose last 32 bits are an IPv4 address: mapped, compatible, and NAT64. */
const withIPv4 = ['::ffff:0:0/96', '::/96', '64:ff9b::/96'].map((text) => ipaddr.parseCIDR(text))

export function isReachable(text: string, { allowPrivate }: Pick<AddressPolicy, 'allowPrivate'>): boolean {
  if (!isIP(text)) return false
  const address = unwrapIPv4(ipaddr.parse(text))
  if (metadataAddresses.some((metadata) => metadata.toString() === address.toString())) return false
  const range = address.range()
  if (privateRanges.includes(range)) return allowPrivate
  return range === 'unicast' && (address.kind() === 'ipv4' || address.match(globalIPv6))
}

function unwrapIPv4(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address.kind() === 'ipv4' || ['::', '::1'].includes(address.toString())) return address
  const bytes = address.toByteArray()
  return withIPv4.some((network) => address.match(network)) ? ipaddr.fromByteArray(bytes.slice(12)) : address
}

export type Lookup = (name: string) => Promise<string[]>

const resolverOptions = { timeout: 2_000, tries: 2 }

/** `lookup` of `node:dns` blocks one of four threads: four dead name servers would also stop all password hashes. */
export function openLookup(hostsFile = '/etc/hosts', servers?: string[]): Lookup {
  return async (name) => {
    // A resolver never reads /etc/resolv.conf again.
    const resolver = new Resolver(resolverOptions)
    if (servers) resolver.setServers(servers)
    const bare = name.toLowerCase().replace(/\.$/, '')
    if (/(^|\.)localhost$/.test(bare)) return ['127.0.0.1']
    const local = addressesIn(await readFile(hostsFile, 'utf8').catch(() => ''), bare)
    return local.length > 0 ? local : resolve(resolver, bare)
  }
}

function addressesIn(hosts: string, name: string): string[] {
  const lines = hosts.toLowerCase().split('\n')
  const rows = lines.map((line) => line.replace(/#.*/, '').trim().split(/\s+/))
  return rows.flatMap(([address = '', ...names]) => (isIP(address) && names.includes(name) ? address : []))
}

async function resolve(resolver: Resolver, name: string): Promise<string[]> {
  const results = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  if (addresses.length === 0 && results[0].status === 'rejected') throw results[0].reason
  return addresses
}
