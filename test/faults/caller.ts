import { type History, isWrite, type Operation, type Request } from './history.ts'
import { digest } from './check-lists.ts'
import { flawOf } from './check-answers.ts'
import type { Random } from './random.ts'

const base = '/api/v1'
/** Who waits less gives up by himself: that is no failure of the service. */
const patientMs = 1_000
const mostTries = 20

/** It makes nothing of its own: it answers 200. */
const asksForMany = (kind: string) => kind === 'batch' || kind === 'undo'

export interface Manner {
  web: number
  tries: number
  timeoutMs: number
}

interface Answer {
  status: number
  text: string
  headers: Headers
  reason: string
}

/** No answer, too many requests of the account, or unavailable: the request may be sent again. */
const isTemporary = (status: number): boolean => [0, 429, 503].includes(status)

export class Caller {
  private keys = 0

  constructor(
    private readonly urls: readonly string[],
    private readonly history: History,
    private readonly random: Random,
  ) {}

  /** Asks until there is an answer, with the same key, often elsewhere; gives up after some tries. */
  async perform(request: Request, { web, tries, timeoutMs }: Manner): Promise<Operation> {
    const operation = this.begin(request)
    for (let left = tries; left > 0; left--) {
      const start = performance.now()
      const answer = await send(this.urls[web]!, request, operation.key, timeoutMs)
      const end = performance.now()
      const { status, text, headers, reason } = answer
      const flaw = flawOf(request.method, answer, asksForMany(request.kind) ? 200 : undefined)
      if (flaw) this.history.flaws.push(`${request.method} ${request.path}: ${flaw}`)
      if (!isTemporary(status)) {
        const replayed = headers.get('idempotency-replayed') === 'true'
        const kept = status === 200 && request.kind === 'task.list' ? digest(text) : text
        const told = { etag: headers.get('etag'), replayed, status, text: kept }
        return Object.assign(operation, told, { end: status < 500 ? end : Infinity })
      }
      const failure = { path: request.path, web, start, end, status, reason }
      operation.failures.push(failure)
      if (reason !== 'TimeoutError' || timeoutMs >= patientMs) this.history.failures.push(failure)
      const restMs = status !== 0 ? Number(headers.get('retry-after')) * 1_000 : this.random.between(20, 200)
      if (left > 1) await Bun.sleep(Math.min(restMs || 0, 2_000))
      if (this.random.chance(0.5)) web = this.random.below(this.urls.length)
    }
    return operation
  }

  /** Asks for what is no part of a project's history; of its answers only flaws are recorded. */
  async ask(asked: Pick<Request, 'method' | 'path' | 'body' | 'caller'>, success = 200): Promise<Answer> {
    const key = asked.method === 'GET' ? '' : `key-${++this.keys}`
    for (let left = mostTries; ; left--) {
      const url = this.urls[this.random.below(this.urls.length)]!
      const answer = await send(url, asked, key, patientMs)
      const flaw = flawOf(asked.method, answer, success)
      if (flaw) this.history.flaws.push(`${asked.method} ${asked.path}: ${flaw}`)
      if (!isTemporary(answer.status) || left === 1) return answer
      await Bun.sleep(this.random.between(20, 500))
    }
  }

  get webs(): number {
    return this.urls.length
  }

  private begin({ caller, ...request }: Request): Operation {
    const key = isWrite(request) ? `key-${++this.keys}` : ''
    const unanswered = {
      start: performance.now(),
      end: Infinity,
      status: 0,
      etag: null,
      text: '',
      replayed: false,
    }
    const operation = { ...request, callerId: caller.id, key, ...unanswered, failures: [] }
    this.history.operations.push(operation)
    return operation
  }
}

type Sent = Pick<Request, 'method' | 'path' | 'body' | 'caller' | 'ifMatch'>

async function send(url: string, request: Sent, key: string, timeoutMs: number): Promise<Answer> {
  const { method, path, body, ifMatch, caller } = request
  const headers: Record<string, string> = { authorization: `Bearer ${caller.token}` }
  if (key) headers['idempotency-key'] = key
  if (ifMatch) headers['if-match'] = ifMatch
  if (body) headers['content-type'] = 'application/json'
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const response = await fetch(url + base + path, {
      method,
      headers,
      body: body && JSON.stringify(body),
      signal,
    })
    return { status: response.status, text: await response.text(), headers: response.headers, reason: '' }
  } catch (error) {
    const { name, code } = error as { name?: string; code?: unknown }
    return {
      status: 0,
      text: '',
      headers: new Headers(),
      reason: typeof code === 'string' ? code : String(name),
    }
  }
}
