import type { Config } from '../config.ts'
import type { PostResult, ResponseSummary } from './response.ts'
import { type Destinations, ForbiddenUrl, openDestinations } from './destination.ts'
import { openExchange, type OutboundRequest } from './exchange.ts'

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
