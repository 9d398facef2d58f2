import { ConnectionError, DocketError, errorOf } from './errors.ts'
import { ifMatchOf, rememberEtag } from './etags.ts'
import { withRetries } from './retries.ts'

export type Token = string | (() => string | Promise<string>)

export interface TransportOptions {
  /** The origin of the service, with or without `/api/v1`. */
  url: string | URL
  /** A token of the service, or a function that returns a token. Each attempt calls the function. */
  token?: Token | undefined
  fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** The time for a call and its retries, in milliseconds; by default 60,000. */
  deadlineMs?: number
  /** The time for one attempt, in milliseconds; by default 30,000. */
  attemptMs?: number
}

export interface CallOptions {
  /** Ends the call at once, also during a pause before a retry. The call rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** The time for this call and its retries, in milliseconds. */
  deadlineMs?: number | undefined
}

export interface WriteOptions extends CallOptions {
  /** Several calls with the same key write once. By default each call has a random key, and its retries have the same key. */
  idempotencyKey?: string | undefined
  /** An ETag, or a resource that a call returned. If the resource has changed, the write fails with 412. */
  ifMatch?: string | object | undefined
  /** The claimed task, or `<taskId> <seq>`. If this claim has ended, the write fails with 412. */
  ifClaim?: string | { id: string; claim: { seq: number } | null } | undefined
}

type QueryValue = string | number | boolean | readonly string[] | undefined
export type Query = Record<string, QueryValue>

export interface RequestOptions extends WriteOptions {
  query?: Query | undefined
  body?: unknown
  /** The body as a form, in place of `body`. One attempt may take until the deadline. */
  form?: FormData | undefined
  headers?: Record<string, string>
}

export interface ApiResponse<T> {
  body: T
  headers: Headers
  status: number
}

export interface StreamOptions {
  query?: Query
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
}

const defaultDeadlineMs = 60_000
/** Longer than the longest wait of the service, which is 25 s. */
const defaultAttemptMs = 30_000

/** Sends requests to the service; `path` is relative to `/api/v1`. */
export class Transport {
  /** The time for a call whose options have no `deadlineMs`. */
  readonly deadlineMs: number
  readonly #options: TransportOptions
  readonly #base: string

  constructor(options: TransportOptions) {
    this.#options = options
    this.deadlineMs = options.deadlineMs ?? defaultDeadlineMs
    this.#base = `${new URL(options.url).href.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}/api/v1`
  }

  /**
   * Returns the first successful response. Retries after 429, 502, 503, 504 and lost connections, until the deadline.
   * @throws DocketError of the last attempt; the reason of `signal`
   */
  async request<T>(method: string, path: string, options: RequestOptions = {}): Promise<ApiResponse<T>> {
    const { query, body, form, signal, deadlineMs = this.deadlineMs } = options
    const url = this.#url(path, query)
    const headers = headersOf(method, options)
    const content = form ?? (body === undefined ? null : JSON.stringify(body))
    const attemptMs = form ? deadlineMs : (this.#options.attemptMs ?? defaultAttemptMs)
    return withRetries(
      async (ending) =>
        readResponse<T>(await this.#send(url, { method, headers, body: content, signal: ending })),
      { deadlineMs, attemptMs, signal },
    )
  }

  /** Sends one GET, without retries. Returns the response before its body has arrived. @throws DocketError; the reason of `signal` */
  async stream(path: string, { query, headers, signal }: StreamOptions = {}): Promise<Response> {
    const init = { headers: new Headers(headers), signal: signal ?? null }
    const response = await this.#send(this.#url(path, query), init).catch((error: unknown) => {
      signal?.throwIfAborted()
      throw error
    })
    return response.ok ? response : Promise.reject(errorOf(response, await bodyOf(response)))
  }

  #url(path: string, query: Query = {}): string {
    const given = Object.entries(query).filter(([, value]) => value !== undefined)
    const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
    return this.#base + path + (search && `?${search}`)
  }

  async #send(url: string, init: RequestInit & { headers: Headers }): Promise<Response> {
    const { token, fetch: send = (...args) => fetch(...args) } = this.#options
    const text = typeof token === 'function' ? await token() : token
    if (text) init.headers.set('authorization', bearer(text))
    const response = await withConnectionError(() => send(url, { ...init, redirect: 'manual' }))
    return isRedirect(response) ? Promise.reject(redirected(response)) : response
  }
}

/** @throws TypeError for an invalid token. The message does not contain the token, in contrast to the error of `Headers`. */
function bearer(token: string): string {
  if (/[^ -~]/.test(token.trim())) throw new TypeError('The token must consist of ASCII characters')
  return `Bearer ${token}`
}

const isRedirect = ({ type, status }: Response) =>
  type === 'opaqueredirect' || (status >= 300 && status < 400)

/** The client follows no redirect: another origin could receive the token, and a write could become a read. */
function redirected({ status, headers }: Response): DocketError {
  const target = headers.get('location') ?? 'another address'
  // Browsers hide the status and the target.
  return new DocketError(status || 302, `The service redirects to ${target}: use this address as url`)
}

function headersOf(method: string, options: RequestOptions): Headers {
  const { body, headers, idempotencyKey, ifMatch, ifClaim } = options
  const all = new Headers(headers)
  if (body !== undefined) all.set('content-type', 'application/json')
  if (method !== 'GET') all.set('idempotency-key', idempotencyKey ?? randomKey())
  if (ifMatch !== undefined) all.set('if-match', ifMatchOf(ifMatch))
  if (ifClaim !== undefined) all.set('docket-if-claim', claimOf(ifClaim))
  return all
}

/** Browsers offer `crypto.randomUUID` only to pages over HTTPS. */
const randomKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-')

function claimOf(claimed: NonNullable<WriteOptions['ifClaim']>): string {
  if (typeof claimed === 'string') return claimed
  if (!claimed.claim) throw new TypeError('ifClaim must be a task with a claim')
  return `${claimed.id} ${claimed.claim.seq}`
}

async function readResponse<T>(response: Response): Promise<ApiResponse<T>> {
  const { status, headers, ok } = response
  const body = await bodyOf(response)
  if (!ok) throw errorOf(response, body)
  rememberEtag(body, headers)
  return { body: body as T, headers, status }
}

/** Returns the parsed JSON, or undefined without a body. For an error, the body may be plain text. */
async function bodyOf(response: Response): Promise<unknown> {
  const text = await withConnectionError(() => response.text())
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    if (!response.ok) return text
    throw new DocketError(response.status, 'The response is not JSON', { body: text })
  }
}

async function withConnectionError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new ConnectionError(`No connection to the service: ${String(error)}`, { cause: error })
  }
}
