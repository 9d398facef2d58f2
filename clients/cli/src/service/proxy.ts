import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as viaHttp } from 'node:http'
import { request as viaHttps } from 'node:https'
import { BlockList, isIP, isIPv6, type Socket } from 'node:net'
import process from 'node:process'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { connect as connectTls } from 'node:tls'
import type { Cli } from '../cli.ts'
import { Failure } from '../failure.ts'

type Env = Cli['env']

/** The variable in lower case takes precedence, as in curl. */
const read = (env: Env, name: string): string =>
  (env[name.toLowerCase()]?.trim() || env[name.toUpperCase()]?.trim()) ?? ''

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')

const isLoopback = (host: string): boolean =>
  /^(.+\.)?localhost$/.test(host) || (isIP(host) !== 0 && /^(127\.|::1$|::ffff:7f[0-9a-f]{2}:)/.test(host))

/** Returns the proxy for requests to this URL. Loopback has none. @throws Failure for an invalid variable */
export function proxyOf(url: string, env: Env): URL | undefined {
  const target = new URL(url)
  const [own, other] = [`${target.protocol.slice(0, -1)}_proxy`, 'all_proxy']
  const name = [own, other].find((one) => read(env, one))
  if (!name || isLoopback(hostOf(target)) || isExcluded(target, read(env, 'no_proxy'))) return undefined
  const written = read(env, name)
  const text = written.includes('://') ? written : `http://${written}`
  const proxy = URL.canParse(text) ? new URL(text) : undefined
  // The message does not contain the value, which may contain a password.
  if (!proxy || !['http:', 'https:'].includes(proxy.protocol))
    throw new Failure(`${name.toUpperCase()} must be a URL starting with http:// or https://`)
  return proxy
}

/** @param list such as `example.com,.example.org,10.0.0.0/8,host:8080`, or `*`. A name stands for its subdomains too */
function isExcluded(target: URL, list: string): boolean {
  const host = hostOf(target)
  const port = target.port || (target.protocol === 'https:' ? '443' : '80')
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      if (entry === '*') return true
      if (entry.includes('/')) return isInNetwork(host, entry)
      const [, bracketed, name = entry, ownPort = port] =
        /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? []
      const domain = (bracketed ?? name).replace(/^\*?\./, '')
      return (
        domain !== '' && ownPort === port && (host === domain || (!isIP(host) && host.endsWith(`.${domain}`)))
      )
    })
}

function isInNetwork(host: string, entry: string): boolean {
  const [network = '', bits = ''] = entry.split('/')
  const family = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4')
  const max = isIPv6(network) ? 128 : 32
  if (!isIP(host) || !isIP(network) || !/^\d{1,3}$/.test(bits) || Number(bits) > max) return false
  const networks = new BlockList()
  networks.addSubnet(network, Number(bits), family(network))
  return networks.check(host, family(host))
}

/** Returns a `fetch` that obeys HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY on Node, Bun and Deno. */
export function openFetch(env: Env): Cli['fetch'] {
  const hasProxies = 'bun' in process.versions || 'deno' in process.versions
  return async (url, init) => {
    const proxy = proxyOf(url, env)
    if (proxy && !hasProxies) return fetchThrough(proxy, url, init)
    if (!proxy && hasProxies) exclude(hostOf(new URL(url)))
    return fetch(url, init)
  }
}

/** The `fetch` of Bun and of Deno reads the variables itself, and would also send requests for loopback to the proxy. */
function exclude(host: string): void {
  for (const name of ['no_proxy', 'NO_PROXY']) {
    const list = read(process.env, name)
    const entries = isIPv6(host) ? [host, `[${host}]`] : [host]
    const missing = entries.filter((one) => !list.split(',').includes(one))
    if (missing.length > 0) process.env[name] = [list, ...missing].filter(Boolean).join(',')
  }
}

async function fetchThrough(proxy: URL, url: string, init: RequestInit): Promise<Response> {
  const signal = init.signal ?? undefined
  try {
    const request = new Request(url, init)
    const outgoing = await openRequest(proxy, new URL(url), request, signal)
    if (outgoing instanceof Response) return outgoing
    // An abort after the response also emits an error of the request.
    outgoing.on('error', () => {})
    const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
    if (typeof init.body === 'string') outgoing.end(init.body)
    else if (request.body)
      await Promise.race([pipeline(Readable.fromWeb(request.body as never), outgoing), answered])
    else outgoing.end()
    const [response] = await answered
    return toResponse(response)
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}

/** Returns the response of the proxy if the proxy rejects the connection. */
async function openRequest(
  proxy: URL,
  target: URL,
  { method, headers }: Request,
  signal: AbortSignal | undefined,
): Promise<ClientRequest | Response> {
  const { username, password } = proxy
  const user = [username, password].map(decodeURIComponent).join(':')
  const authorization = username && { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` }
  const toProxy = proxy.protocol === 'https:' ? viaHttps : viaHttp
  const server = {
    host: hostOf(proxy),
    port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
    agent: false as const,
    signal,
  }
  const own = { ...Object.fromEntries(headers), host: target.host }
  if (target.protocol === 'http:')
    return toProxy({ ...server, method, path: target.href, headers: { ...own, ...authorization } })
  const authority = `${target.hostname}:${target.port || 443}`
  const connecting = toProxy({
    ...server,
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...authorization },
  })
  connecting.end()
  const [{ statusCode = 502 }, socket] = (await once(connecting, 'connect')) as [IncomingMessage, Socket]
  if (statusCode !== 200) {
    socket.destroy()
    const message = `The proxy ${proxy.host} answers ${statusCode} to CONNECT ${authority}`
    return Response.json({ statusCode, message, error: 'Proxy' }, { status: Math.max(statusCode, 400) })
  }
  const host = hostOf(target)
  const secure = connectTls({ socket, servername: isIP(host) ? undefined : host, host })
  return viaHttps(target, { method, headers: own, signal, createConnection: () => secure })
}

const withoutBody = [101, 204, 205, 304]

function toResponse(response: IncomingMessage): Response {
  const { statusCode: status = 502, headersDistinct } = response
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const value of values) headers.append(name, value)
  const isEmpty = withoutBody.includes(status)
  if (isEmpty) response.resume()
  return new Response(isEmpty ? null : (Readable.toWeb(response) as never), { status, headers })
}
