import { digest } from './check-lists.ts'
import { responseError } from './check-responses.ts'
import { type History, isWrite, type Operation, type Request } from './history.ts'
import type { Random } from './random.ts'

/** Time-outs of attempts with a shorter timeout do not count as failures of the service. */
const minTimeoutMs = 1_000
const maxTries = 20

/** Batches and undos create no resource of their own, so they return 200. */
const returnsOk = (kind: string) => kind === 'batch' || kind === 'undo'

export interface SendOptions {
  web: number
  tries: number
  timeoutMs: number
}

interface Received {
  status: number
  text: string
  headers: Headers
  reason: string
}

/** Status 0 means no response. */
const isTemporary = (status: number): boolean => [0, 429, 503].includes(status)

export class RecordingClient {
  private keys = 0

  constructor(
    private readonly urls: readonly string[],
    private readonly history: History,
    private readonly random: Random,
  ) {}

  get webs(): number {
    return this.urls.length
  }

  /** Sends a request up to `tries` times with one idempotency key, often to another web process. */
  async send(request: Request, { web, tries, timeoutMs }: SendOptions): Promise<Operation> {
    const operation = this.begin(request)
    for (let left = tries; left > 0; left--) {
      const start = performance.now()
      const received = await fetchOnce(this.urls[web]!, request, operation.key, timeoutMs)
      const end = performance.now()
      const { status, text, headers, reason } = received
      this.check(request, received, returnsOk(request.kind) ? 200 : undefined)
      if (!isTemporary(status)) {
        const replayed = headers.get('idempotency-replayed') === 'true'
        const recorded = status === 200 && request.kind === 'task.list' ? digest(text) : text
        const response = { etag: headers.get('etag'), replayed, status, text: recorded }
        return Object.assign(operation, response, { end: status < 500 ? end : Infinity })
      }
      const failure = { path: request.path, web, start, end, status, reason }
      operation.failures.push(failure)
      if (reason !== 'TimeoutError' || timeoutMs >= minTimeoutMs) this.history.failures.push(failure)
      const pauseMs = status !== 0 ? Number(headers.get('retry-after')) * 1_000 : this.random.between(20, 200)
      if (left > 1) await Bun.sleep(Math.min(pauseMs || 0, 2_000))
      if (this.random.chance(0.5)) web = this.random.below(this.urls.length)
    }
    return operation
  }

  /** Sends a request that is not part of the recorded history. Only invalid responses are recorded. */
  async sendUnrecorded(
    request: Pick<Request, 'method' | 'path' | 'body' | 'caller'>,
    success = 200,
  ): Promise<Received> {
    const key = request.method === 'GET' ? '' : `key-${++this.keys}`
    for (let left = maxTries; ; left--) {
      const url = this.urls[this.random.below(this.urls.length)]!
      const received = await fetchOnce(url, request, key, minTimeoutMs)
      this.check(request, received, success)
      if (!isTemporary(received.status) || left === 1) return received
      await Bun.sleep(this.random.between(20, 500))
    }
  }

  private check({ method, path }: Pick<Request, 'method' | 'path'>, received: Received, success?: number) {
    const error = responseError(method, received, success)
    if (error) this.history.invalidResponses.push(`${method} ${path}: ${error}`)
  }

  private begin({ caller, ...request }: Request): Operation {
    const operation: Operation = {
      ...request,
      callerId: caller.id,
      key: isWrite(request) ? `key-${++this.keys}` : '',
      ...{ start: performance.now(), end: Infinity, status: 0, etag: null, text: '', replayed: false },
      failures: [],
    }
    this.history.operations.push(operation)
    return operation
  }
}

async function fetchOnce(
  url: string,
  { method, path, body, ifMatch, caller }: Pick<Request, 'method' | 'path' | 'body' | 'caller' | 'ifMatch'>,
  key: string,
  timeoutMs: number,
): Promise<Received> {
  const headers: Record<string, string> = { authorization: `Bearer ${caller.token}` }
  if (key) headers['idempotency-key'] = key
  if (ifMatch) headers['if-match'] = ifMatch
  if (body) headers['content-type'] = 'application/json'
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const init = { method, headers, body: body && JSON.stringify(body), signal }
    const response = await fetch(`${url}/api/v1${path}`, init)
    return { status: response.status, text: await response.text(), headers: response.headers, reason: '' }
  } catch (error) {
    const { name, code } = error as { name?: string; code?: unknown }
    const reason = typeof code === 'string' ? code : String(name)
    return { status: 0, text: '', headers: new Headers(), reason }
  }
}
