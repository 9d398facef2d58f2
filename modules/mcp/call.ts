import { errorDetailsOf } from '../../src/http/errors.ts'
import { fingerprintBy } from '../../src/http/idempotency.ts'
import { type ErrorStatus, HttpError, notFound } from '../../src/responses/errors.ts'

export type Handle = (request: Request) => Promise<Response>

export interface ApiResponse<T = unknown> {
  headers: Headers
  /** Undefined if the response has no body. */
  body: T
}

interface Post {
  /** Sent as JSON. */
  body?: unknown
  /** A retry with the same key must repeat this content. By default the body. */
  content?: unknown
  /** The Idempotency-Key: a retry with the same key gets the first response. */
  key?: string
  headers?: Record<string, string>
}

/** One call of a tool, which sends requests to the API. A response with an error is thrown as an HttpError. */
export class Call {
  /** The results of `once`. */
  readonly results = new Map<string, Promise<unknown>>()

  /** @param headers of the client's request @param signal aborts when the client has disconnected */
  constructor(
    readonly userId: string,
    private readonly handle: Handle,
    private readonly headers: Headers,
    private readonly signal: AbortSignal,
  ) {}

  get<T>(path: string): Promise<ApiResponse<T>> {
    return this.send<T>('GET', path, {})
  }

  post<T>(path: string, options: Post): Promise<ApiResponse<T>> {
    return this.send<T>('POST', path, options)
  }

  private async send<T>(method: string, path: string, { body, content, key, headers }: Post) {
    this.signal.throwIfAborted()
    // `Request` removes the segments `.` and `..` from a URL, so such an id would select another route.
    if (/\/\.{1,2}(?=[/?]|$)/.test(path)) throw notFound('Row')
    const text = body === undefined ? undefined : JSON.stringify(body)
    const all = {
      authorization: this.headers.get('authorization'),
      traceparent: this.headers.get('traceparent'),
      'content-type': text === undefined ? null : 'application/json',
      'content-length': text === undefined ? null : String(Buffer.byteLength(text)),
      // Without quotes, the header would lose spaces at the ends of the key.
      'idempotency-key': key === undefined ? null : `"${key.replace(/["\\]/g, '\\$&')}"`,
      ...headers,
    }
    const given = Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [[name, value]]))
    const init = { method, body: text, signal: this.signal, headers: Object.fromEntries(given) }
    const request = new Request(`http://docket/api/v1${path}`, init)
    if (content !== undefined) fingerprintBy(request, content)
    return readResponse<T>(request, await this.handle(request))
  }

  /** Returns the result of the first `load` with this name in the call. */
  once<T>(name: string, load: () => Promise<T>): Promise<T> {
    const result = this.results.get(name) ?? load()
    this.results.set(name, result)
    return result as Promise<T>
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
