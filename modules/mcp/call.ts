import { errorDetailsOf } from '../../src/http/errors.ts'
import { fingerprintBy } from '../../src/http/idempotency.ts'
import { type ErrorStatus, HttpError, notFound } from '../../src/responses/errors.ts'

/** One call of a tool. */
export interface Call {
  userId: string
  /** Sends a request to the API with the token of the caller. @throws HttpError with the status of the response */
  send<T>(method: 'GET' | 'POST', path: string, options?: RequestOptions): Promise<ApiResponse<T>>
  /** Aborts when the client has disconnected. */
  signal: AbortSignal
  /** The results of `once`. */
  results: Map<string, Promise<unknown>>
}

interface RequestOptions {
  /** Sent as JSON. */
  body?: unknown
  /** A retry with the same key must repeat this content. By default the body. */
  content?: unknown
  headers?: Record<string, string>
}

export interface ApiResponse<T = unknown> {
  headers: Headers
  /** Undefined if the response has no body. */
  body: T
}

export type Handle = (request: Request) => Promise<Response>

/** Opens a call. Its requests have the token and the trace headers of the client's request. */
export function openCall(handle: Handle, userId: string, { headers }: Request, signal: AbortSignal): Call {
  const names = ['authorization', 'traceparent']
  const forwarded = Object.fromEntries([...headers].filter(([name]) => names.includes(name)))
  return {
    ...{ userId, signal, results: new Map() },
    async send<T>(method: string, path: string, { body, content, headers }: RequestOptions = {}) {
      signal.throwIfAborted()
      // `Request` removes the segments `.` and `..` from a URL, so such an id would select another route.
      if (/\/\.{1,2}(?=[/?]|$)/.test(path)) throw notFound('Row')
      const text = body === undefined ? undefined : JSON.stringify(body)
      const ofBody = text !== undefined && {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(text)),
      }
      const request = new Request(`http://docket/api/v1${path}`, {
        ...{ method, body: text, signal },
        headers: { ...forwarded, ...ofBody, ...headers },
      })
      if (content !== undefined) fingerprintBy(request, content)
      return readResponse<T>(request, await handle(request))
    },
  }
}

async function readResponse<T>(request: Request, response: Response): Promise<ApiResponse<T>> {
  const { status, headers } = response
  const text = await response.text()
  const body = text === '' ? undefined : JSON.parse(text)
  if (status < 400) return { headers, body }
  const details = errorDetailsOf(request)
  throw new HttpError(status as ErrorStatus, body.message, Object.fromEntries(headers), details)
}

/** Returns the response to a GET. @throws HttpError with the status of the response */
export const read = <T>(call: Call, path: string): Promise<ApiResponse<T>> => call.send<T>('GET', path)

interface Write extends RequestOptions {
  /** The Idempotency-Key: a retry with the same key gets the first response. */
  key?: string
}

/** Sends a POST. @throws HttpError with the status of the response */
export function write<T>(call: Call, path: string, { key, ...options }: Write): Promise<ApiResponse<T>> {
  // Without quotes, the header would lose spaces at the ends of the key.
  const keyed = key !== undefined && { 'idempotency-key': `"${key.replace(/["\\]/g, '\\$&')}"` }
  return call.send<T>('POST', path, { ...options, headers: { ...options.headers, ...keyed } })
}

export const isReplayed = ({ headers }: ApiResponse): { replayed?: true } =>
  headers.get('idempotency-replayed') === 'true' ? { replayed: true } : {}

/** Returns `path`, which may have a query, with the parameters that have a value and are not false. */
export function withQuery(path: string, parameters: object): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== false)
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return query ? `${path}${path.includes('?') ? '&' : '?'}${query}` : path
}

/** Returns the cursor of the next page, or the seq of a page of events; undefined on the last page. */
export const cursorOf = ({ headers }: ApiResponse): string | undefined =>
  /[?&](?:cursor|after)=([^&>]*)[^>]*>; rel="next"/.exec(headers.get('link') ?? '')?.[1]

/** Returns the result of the first `load` with this name in the call. */
export function once<T>({ results }: Call, name: string, load: () => Promise<T>): Promise<T> {
  const result = results.get(name) ?? load()
  results.set(name, result)
  return result as Promise<T>
}
