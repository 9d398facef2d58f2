import { Agent as HttpAgent, type ClientRequest, request as viaHttp, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as viaHttps } from 'node:https'
import { isIP } from 'node:net'
import type { Config } from '../config.ts'
import { hostnameOf } from '../hosts.ts'
import { type Destinations, ForbiddenUrl, openDestinations } from './destination.ts'

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

  return async (request: OutboundRequest): Promise<PostResult> => {
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

interface PostResult {
  status: number | null
  error: string | null
  answer: string
  retryAfterMs: number | null
  durationMs: number
}

type ResponseSummary = Omit<PostResult, 'durationMs'>

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
