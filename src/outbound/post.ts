import type { Config } from '../config.ts'
import { type PostResult, type ResponseSummary, withoutResponse } from './response.ts'
import { type Destinations, ForbiddenUrl, openDestinations } from './destination.ts'
import { openExchange, type OutboundRequest } from './exchange.ts'

const defaultTimeoutMs = 15_000

class TimeoutError extends Error {}

/** Requests that callers ask for: where they may go, and the way there. */
export function openOutbound({
  webhookAllowHttp: allowHttp,
  webhookAllowPrivate: allowPrivate,
}: Pick<Config, 'webhookAllowHttp' | 'webhookAllowPrivate'>) {
  const destinations = openDestinations({ allowHttp, allowPrivate })
  return { destinations, post: openPost(destinations, { timeoutMs: defaultTimeoutMs }) }
}

/** Posts JSON to the very address that was checked, and follows no redirect. */
export function openPost(destinations: Destinations, { timeoutMs, ca }: { timeoutMs: number; ca?: string }) {
  const exchange = openExchange(ca)

  async function attempt(parcel: OutboundRequest, signal: AbortSignal): Promise<ResponseSummary> {
    const url = destinations.read(parcel.url)
    const addresses = await unlessAborted(destinations.addressesOf(url), signal)
    for (const address of addresses.slice(0, -1)) {
      const told = await exchange(parcel, url, address, signal).catch(ignoreUnreachable)
      if (told) return told
    }
    return exchange(parcel, url, addresses.at(-1)!, signal)
  }

  /** @throws the reason of the parcel's own signal */
  return async (parcel: OutboundRequest): Promise<PostResult> => {
    parcel.signal?.throwIfAborted()
    const began = performance.now()
    const over = new AbortController()
    const stop = () => over.abort(parcel.signal?.reason)
    const timer = setTimeout(() => over.abort(new TimeoutError(`No answer within ${timeoutMs / 1000} s`)), timeoutMs)
    parcel.signal?.addEventListener('abort', stop)
    try {
      const told = await attempt(parcel, over.signal).catch((error: unknown) => {
        parcel.signal?.throwIfAborted()
        return withoutResponse(reasonOf(error))
      })
      return { ...told, durationMs: Math.round(performance.now() - began) }
    } finally {
      clearTimeout(timer)
      parcel.signal?.removeEventListener('abort', stop)
    }
  }
}

/** For the caller that set the URL: no internal address. */
function reasonOf(error: unknown): string {
  if (error instanceof ForbiddenUrl) return `The URL ${error.message}`
  if (error instanceof TimeoutError) return error.message
  const code = codeOf(error)
  return code ? `No connection: ${code}` : 'No connection'
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')

const unreachableCodes = ['ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL']
/** Nothing was sent: another address of the name may answer. */
function ignoreUnreachable(error: unknown): undefined {
  if (!unreachableCodes.includes(codeOf(error))) throw error
}

/** The signal must end with the work, because it keeps the listener. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason))
  return Promise.race([work, promise])
}
