import type { Static, TObject, TProperties } from '@sinclair/typebox'
import { errorDetailsOf } from '../../src/http/errors.ts'
import { fingerprintBy } from '../../src/http/idempotency.ts'
import { type ErrorStatus, HttpError, notFound } from '../../src/responses/errors.ts'
import { Input } from '../../src/schema/input.ts'

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

  private async send<T>(method: string, path: string, { body, content, key, ...sent }: Post) {
    const { signal } = this
    signal.throwIfAborted()
    // `Request` removes the segments `.` and `..` from a URL, so such an id would select another route.
    if (/\/\.{1,2}(?=[/?]|$)/.test(path)) throw notFound('Row')
    const headers = new Headers(sent.headers)
    for (const name of ['authorization', 'traceparent']) {
      const value = this.headers.get(name)
      if (value !== null) headers.set(name, value)
    }
    const text = body === undefined ? null : JSON.stringify(body)
    if (text !== null) {
      headers.set('content-type', 'application/json')
      headers.set('content-length', String(Buffer.byteLength(text)))
    }
    // Without quotes, the header would lose spaces at the ends of the key.
    if (key !== undefined) headers.set('idempotency-key', `"${key.replace(/["\\]/g, '\\$&')}"`)
    const request = new Request(`http://docket/api/v1${path}`, { method, body: text, signal, headers })
    if (content !== undefined) fingerprintBy(request, content)
    return readResponse<T>(request, await this.handle(request))
  }

  /** Yields the pages of a list, each with the cursor at which it begins. */
  async *pages<Row>(path: string, limit: number, cursor?: string) {
    do {
      const page = await this.get<Row[]>(withQuery(path, { limit, cursor }))
      const next = cursorOf(page)
      yield { ...page, cursor, next }
      cursor = next
    } while (cursor !== undefined)
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

/** A tool of the MCP endpoint. It sends requests to the API, whose rights, limits and checks apply to the tool. */
export interface Tool {
  name: string
  description: string
  /** A token with the scope `read` cannot list or call a tool with the scope `write`. */
  scope: 'read' | 'write'
  hints?: { destructiveHint: boolean; idempotentHint: boolean }
  /** Rejects unknown fields. Agents and validation errors show each `description`. */
  inputSchema: TObject
  /** Returns the answer. @throws HttpError, ToolError */
  run(args: never, call: Call): Promise<object>
}

interface Definition<Fields extends TProperties> extends Omit<Tool, 'inputSchema' | 'run'> {
  input: Fields
  /** @param args valid, and `project` and the names of users and labels are replaced by ids */
  run(args: Static<TObject<Fields>>, call: Call): Promise<object>
}

export const tool = <Fields extends TProperties>({ input, ...definition }: Definition<Fields>): Tool => ({
  ...definition,
  inputSchema: Input(input) as TObject,
})

/** An error for the agent. `advice` names the next step. */
export class ToolError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly advice: string,
    /** Further fields of the answer. */
    readonly details: object = {},
  ) {
    super(message)
  }
}
