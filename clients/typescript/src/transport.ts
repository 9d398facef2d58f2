import { ConnectionError, DocketError, errorOf } from './errors.ts'
import { ifMatchOf, rememberEtag } from './etags.ts'
import { withRetries } from './retries.ts'

export type Token = string | (() => string | Promise<string>)

export interface TransportOptions {
  /** The origin of the service, with or without `/api/v1`. */
  url: string | URL
  /** A token of the service, or a function that returns one: it runs before each attempt. */
  token?: Token | undefined
  fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** The time for a call and its retries, in milliseconds; by default 60,000. */
  deadlineMs?: number
  /** The time for one attempt, in milliseconds; by default 30,000. */
  attemptMs?: number
}

export interface CallOptions {
  /** Ends the call at once, also while it waits. The call rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** The time for this call and its retries, in milliseconds. */
  deadlineMs?: number | undefined
}

export interface WriteOptions extends CallOptions {
  /** Calls with the same key are one write. By default each call has a random key, which its retries repeat. */
  idempotencyKey?: string | undefined
  /** The write fails with 412 if the resource has changed: an ETag, or a resource that a call returned. */
  ifMatch?: string | object | undefined
  /** The write fails with 412 if this claim has ended: `<taskId> <seq>`, or the claimed task. */
  ifClaim?: string | { id: string; claim: { seq: number } | null } | undefined
}

type QueryValue = string | number | boolean | readonly string[] | undefined
export type Query = Record<string, QueryValue>

export interface RequestOptions extends WriteOptions {
  query?: Query | undefined
  body?: unknown
  headers?: Record<string, string>
}

export interface Answer<T> {
  body: T
  headers: Headers
  status: number
}

interface StreamOptions {
  query?: Query
  headers?: Record<string, string>
  signal?: AbortSignal
}

const defaultDeadlineMs = 60_000
/** Longer than the service waits at most: 25 s. */
const defaultAttemptMs = 30_000

/** Sends requests to the service; `path` is relative to `/api/v1`. */
export class Transport {
  readonly #options: TransportOptions
  readonly #base: string

  constructor(options: TransportOptions) {
    this.#options = options
    this.#base = `${new URL(options.url).href.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}/api/v1`
  }

  /**
   * Returns the first successful answer; retries on 429, 502, 503, 504 and lost connections, until the deadline.
   * @throws DocketError of the last attempt; the reason of `signal`
   */
  async request<T>(method: string, path: string, options: RequestOptions = {}): Promise<Answer<T>> {
    const { query, body, signal, deadlineMs = this.#options.deadlineMs ?? defaultDeadlineMs } = options
    const url = this.#url(path, query)
    const headers = headersOf(method, options)
    const text = body === undefined ? null : JSON.stringify(body)
    return withRetries(
      async (ending) => readAnswer<T>(await this.#send(url, { method, headers, body: text, signal: ending })),
      { deadlineMs, attemptMs: this.#options.attemptMs ?? defaultAttemptMs, signal },
    )
  }

  /** Sends one GET and returns the answer before its body has arrived. @throws DocketError; the reason of `signal` */
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

/** @throws TypeError without the token, which the error of an invalid header would contain */
function bearer(token: string): string {
  if (/[^ -~]/.test(token.trim())) throw new TypeError('The token must consist of ASCII characters')
  return `Bearer ${token}`
}

const isRedirect = ({ type, status }: Response) =>
  type === 'opaqueredirect' || (status >= 300 && status < 400)

/** A redirect is not followed: it may lead the token to another origin, and turn a write into a read. */
function redirected({ status, headers }: Response): DocketError {
  const target = headers.get('location') ?? 'another address'
  // Browsers hide the status and the target.
  return new DocketError(status || 302, `The service redirects to ${target}: change url`)
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

async function readAnswer<T>(response: Response): Promise<Answer<T>> {
  const { status, headers, ok } = response
  const body = await bodyOf(response)
  if (!ok) throw errorOf(response, body)
  rememberEtag(body, headers)
  return { body: body as T, headers, status }
}

/** Returns the parsed JSON, or undefined without a body. The body of an error may also be plain text. */
async function bodyOf(response: Response): Promise<unknown> {
  const text = await withConnectionError(() => response.text())
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    if (!response.ok) return text
    throw new DocketError(response.status, 'The answer is not JSON', { body: text })
  }
}

async function withConnectionError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new ConnectionError(`No connection to the service: ${String(error)}`, { cause: error })
  }
}
