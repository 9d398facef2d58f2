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

class TimeoutError extends Error {}

export function openOutbound({
  webhookAllowHttp: allowHttp,
  webhookAllowPrivate: allowPrivate,
}: Pick<Config, 'webhookAllowHttp' | 'webhookAllowPrivate'>) {
  const destinations = openDestinations({ allowHttp, allowPrivate })
  return { destinations, post: openPost(destinations, { timeoutMs: defaultTimeoutMs }) }
}

/** Posts JSON. Connects to exactly the checked address, and follows no redirect. */
export function openPost(destinations: Destinations, { timeoutMs, ca }: { timeoutMs: number; ca?: string }) {
  const exchange = openExchange(ca)

  async function attempt(request: OutboundRequest, signal: AbortSignal): Promise<ResponseSummary> {
    const url = destinations.read(request.url)
    const addresses = await unlessAborted(destinations.addressesOf(url), signal)
    for (const address of addresses.slice(0, -1)) {
      const response = await exchange(request, url, address, signal).catch(ignoreUnreachable)
      if (response) return response
    }
    return exchange(request, url, addresses.at(-1)!, signal)
  }

  return async (request: OutboundRequest) => {
    request.signal?.throwIfAborted()
    const startedAt = performance.now()
    const abort = new AbortController()
    const stop = () => abort.abort(request.signal?.reason)
    const timer = setTimeout(
      () => abort.abort(new TimeoutError(`No response within ${timeoutMs / 1000} s`)),
      timeoutMs,
    )
    request.signal?.addEventListener('abort', stop)
    try {
      const response = await attempt(request, abort.signal).catch((error: unknown) => {
        request.signal?.throwIfAborted()
        return { status: null, error: reasonOf(error), answer: '', retryAfterMs: null }
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
  if (error instanceof TimeoutError) return error.message
  const code = codeOf(error)
  return code ? `No connection: ${code}` : 'No connection'
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')

const unreachableCodes = ['ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL']
/** After these errors nothing was sent, so the next address can be tried. */
function ignoreUnreachable(error: unknown): undefined {
  if (!unreachableCodes.includes(codeOf(error))) throw error
}

/** The listener is never removed, so the signal must not outlive the promise. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason))
  return Promise.race([work, promise])
}

/** Interim responses (1xx) before the final response. Nothing else stops an endless series. */
const maxInterim = 10
const agentOptions = { keepAlive: true, maxFreeSockets: 64, timeout: 4_000 }

interface OutboundRequest {
  url: string
  body: string
  headers: Record<string, string>
  signal?: AbortSignal
}

class StaleConnection extends Error {}

function openExchange(ca?: string) {
  const http = { request: viaHttp, agent: new HttpAgent(agentOptions), port: 80 }
  const https = { request: viaHttps, agent: new HttpsAgent({ ...agentOptions, ca }), port: 443 }

  async function send({ body, headers }: OutboundRequest, url: URL, address: string, signal: AbortSignal) {
    signal.throwIfAborted()
    const { request, agent, port } = url.protocol === 'https:' ? https : http
    const outgoing = request({
      method: 'POST',
      agent,
      host: address,
      port: url.port || port,
      path: url.pathname + url.search,
      servername: isIP(hostnameOf(url)) ? undefined : url.hostname,
      headers: {
        ...headers,
        host: url.host,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    })
    signal.addEventListener('abort', () => void outgoing.destroy(signal.reason as Error))
    return readResponse(outgoing, body)
  }

  return (...args: Parameters<typeof send>): Promise<ResponseSummary> =>
    send(...args).catch((error: unknown) => {
      if (error instanceof StaleConnection) return send(...args)
      throw error
    })
}

function readResponse(outgoing: ClientRequest, body: string): Promise<ResponseSummary> {
  const { promise, resolve, reject } = Promise.withResolvers<ResponseSummary>()
  outgoing.on('error', (error) =>
    reject(outgoing.reusedSocket && isConnectionReset(error) ? new StaleConnection() : error),
  )
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

const isConnectionReset = (error: NodeJS.ErrnoException): boolean =>
  ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')

const maxAnswerBytes = 1_024

interface ResponseSummary {
  status: number | null
  error: string | null
  answer: string
  retryAfterMs: number | null
}

const maxTargetCharacters = 300
const isRedirect = (status = 0): boolean => status >= 300 && status < 400 && status !== 304

function redirectError({ statusCode, headers }: IncomingMessage): string {
  const target = (headers.location ?? '').replace(/[^ -~]/g, '').slice(0, maxTargetCharacters)
  const advice = target ? `: set the URL to ${target} if you trust it` : ''
  return `The receiver answered ${statusCode}, and redirects are not followed${advice}`
}

const summarize = (response: IncomingMessage, body: Buffer): ResponseSummary => ({
  status: response.statusCode ?? null,
  error: isRedirect(response.statusCode) ? redirectError(response) : null,
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
    if (text.length > maxUrlCharacters || !URL.canParse(text)) throw new ForbiddenUrl('must be a URL')
    const url = new URL(text)
    if (url.href.length > maxUrlCharacters)
      throw new ForbiddenUrl(`must have at most ${maxUrlCharacters} characters, percent-encoded`)
    requireProtocol(url, policy)
    if (url.username || url.password) throw new ForbiddenUrl('must not contain a user name or a password')
    const literal = literalIn(url)
    if (literal !== null) requireReachable([literal], policy)
    return url
  }

  /** @throws ForbiddenUrl when one of the addresses is forbidden */
  async function addressesOf(url: URL): Promise<string[]> {
    const literal = literalIn(url)
    const addresses = literal === null ? await lookup(url.hostname) : [literal]
    // Without an address, node:http would connect to localhost.
    if (addresses.length === 0) throw noAddress()
    requireReachable(addresses, policy)
    return addresses.slice(0, maxAddresses)
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

function requireProtocol({ protocol }: URL, { allowHttp }: AddressPolicy): void {
  if (protocol === 'https:' || (allowHttp && protocol === 'http:')) return
  if (protocol === 'http:')
    throw new ForbiddenUrl('must begin with https://, unless the operator sets WEBHOOK_ALLOW_HTTP=on')
  throw new ForbiddenUrl(`must begin with https://${allowHttp ? ' or http://' : ''}`)
}

function requireReachable(addresses: string[], policy: AddressPolicy): void {
  const forbidden = addresses.filter((address) => !isReachable(address, policy))
  if (forbidden.length === 0) return
  if (!forbidden.every(isPrivate))
    throw new ForbiddenUrl('must not resolve to a link-local, metadata or reserved address')
  throw new ForbiddenUrl(
    'must resolve to a public address, unless the operator sets WEBHOOK_ALLOW_PRIVATE=on',
  )
}

const noAddress = () => Object.assign(new Error('The name has no address'), { code: 'ENOTFOUND' })

const literalIn = (url: URL): string | null => (isIP(hostnameOf(url)) ? hostnameOf(url) : null)

type AddressPolicy = { allowHttp: boolean; allowPrivate: boolean }

const privateRanges = ['loopback', 'private', 'uniqueLocal']
/** Metadata services of cloud providers, outside the link-local networks. */
const metadataAddresses = ['168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254'].map((text) => ipaddr.parse(text))
const globalIPv6 = ipaddr.parseCIDR('2000::/3')
/** IPv6 networks whose last 32 bits are an IPv4 address: mapped, compatible, and NAT64. */
const withIPv4 = ['::ffff:0:0/96', '::/96', '64:ff9b::/96'].map((text) => ipaddr.parseCIDR(text))

const isPrivate = (text: string): boolean =>
  isReachable(text, { allowPrivate: true }) && !isReachable(text, { allowPrivate: false })

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
const systemFilesMs = 30_000
const loopback = ['127.0.0.1', '::1']

/** `lookup` of `node:dns` blocks one of four threads: four dead name servers would also stop all password hashes. */
export function openLookup(hostsFile = '/etc/hosts', servers?: string[]): Lookup {
  const open = async () => {
    const resolver = new Resolver(resolverOptions)
    if (servers) resolver.setServers(servers)
    return { resolver, hosts: parseHosts(await readFile(hostsFile, 'utf8').catch(() => '')) }
  }
  let system = open()
  let readAgainAt = performance.now() + systemFilesMs

  return async (name) => {
    if (performance.now() > readAgainAt) [system, readAgainAt] = [open(), performance.now() + systemFilesMs]
    const { resolver, hosts } = await system
    const bare = name.toLowerCase().replace(/\.$/, '')
    const local = hosts.get(bare) ?? (/(^|\.)localhost$/.test(bare) ? loopback : undefined)
    return local ?? resolve(resolver, bare)
  }
}

async function resolve(resolver: Resolver, name: string): Promise<string[]> {
  const results = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  if (addresses.length === 0 && results[0].status === 'rejected') throw results[0].reason
  return addresses
}

function parseHosts(text: string): Map<string, string[]> {
  const hosts = new Map<string, string[]>()
  for (const line of text.toLowerCase().split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    for (const name of isIP(address) ? names : []) hosts.set(name, [...(hosts.get(name) ?? []), address])
  }
  return hosts
}
