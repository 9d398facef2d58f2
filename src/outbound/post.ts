import { type Outcome, type Told, untold } from './answer.ts'
import { type Destinations, Forbidden } from './destination.ts'
import { openExchange, type Parcel } from './exchange.ts'

class Late extends Error {}

export type Post = ReturnType<typeof openPost>

/** Posts JSON where a caller has it sent: to the very address that was looked at, and nowhere that an answer leads. */
export function openPost(destinations: Destinations, { timeoutMs, ca }: { timeoutMs: number; ca?: string }) {
  const exchange = openExchange(ca)

  async function attempt(parcel: Parcel, signal: AbortSignal): Promise<Told> {
    const url = destinations.read(parcel.url)
    const addresses = await unlessAborted(destinations.addressesOf(url), signal)
    for (const address of addresses.slice(0, -1)) {
      const told = await exchange(parcel, url, address, signal).catch(unlessUnreached)
      if (told) return told
    }
    return exchange(parcel, url, addresses.at(-1)!, signal)
  }

  /** @throws what the parcel's own signal says */
  return async (parcel: Parcel): Promise<Outcome> => {
    const began = performance.now()
    const over = new AbortController()
    const stop = () => over.abort(parcel.signal?.reason)
    const timer = setTimeout(() => over.abort(new Late(`No answer within ${timeoutMs / 1000} s`)), timeoutMs)
    if (parcel.signal?.aborted) stop()
    parcel.signal?.addEventListener('abort', stop)
    const told = attempt(parcel, over.signal).catch((error: unknown) => {
      if (parcel.signal?.aborted) throw error
      return untold(reasonOf(error))
    })
    return told
      .then((one) => ({ ...one, durationMs: Math.round(performance.now() - began) }))
      .finally(() => {
        clearTimeout(timer)
        parcel.signal?.removeEventListener('abort', stop)
      })
  }
}

/** What the one who set the URL may know of it: no address of ours. */
function reasonOf(error: unknown): string {
  if (error instanceof Forbidden) return `The URL ${error.message}`
  if (error instanceof Late) return error.message
  const code = codeOf(error)
  return code ? `No connection: ${code}` : 'No connection'
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')

const unreached = ['ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL']
/** Nothing was sent there: another address of the same name may answer. */
function unlessUnreached(error: unknown): undefined {
  if (!unreached.includes(codeOf(error))) throw error
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason)
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', stop))
}
