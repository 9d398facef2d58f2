import { reasons } from '../../src/responses/errors.ts'
import { type Client, openClient } from '../support/client.ts'
import { isWrite, type Operation } from './history.ts'
import type { Random } from './random.ts'

// With the short timeout, a client often retries at another process while the first attempt still runs.
const [longTimeoutMs, shortTimeoutMs] = [4_000, 300]
const maxPauseMs = 2_000
/** The responses that clients store for conditional requests. */
const maxCached = 1_000

interface Received {
  status: number
  text: string
  headers: Headers
  reason: string
}

/** A client that sends each request once, to this web process. */
interface Fixed {
  web: number
  timeoutMs?: number
}

/** Status 0 means no response. */
const isTemporary = (status: number): boolean => [0, 429, 503].includes(status)

export type Recorder = ReturnType<typeof openRecorder>

/** Opens clients that record each request. They retry with one idempotency key, often at another web process. */
export function openRecorder(urls: string[], random: Random) {
  const operations: Operation[] = []
  const invalidResponses: string[] = []
  const cached = new Map<string, { etag: string; text: string }>()
  let keys = 0

  async function send(request: Request, callerId: string, fixed?: Fixed): Promise<Response> {
    const { pathname, search } = new URL(request.url)
    const path = pathname.replace('/api/v1', '') + search
    const { method } = request
    const text = await request.text()
    const operation: Operation = {
      ...{ method, path, body: text ? JSON.parse(text) : undefined, callerId, failures: [] },
      ...{ key: isWrite(request) ? `key-${++keys}` : '', start: performance.now(), end: Infinity },
      ...{ status: 0, etag: null, text: '' },
    }
    operations.push(operation)
    const headers = { ...Object.fromEntries(request.headers), 'idempotency-key': operation.key }
    // Requests that are not retried leave unknown outcomes.
    const tries = fixed || random.chance(0.15) ? 1 : 12
    const isHasty = !fixed && random.chance(0.2)
    const timeoutMs = fixed?.timeoutMs ?? (isHasty ? shortTimeoutMs : longTimeoutMs)
    const known = method === 'GET' && random.chance(0.5) ? cached.get(callerId + path) : undefined
    const sent = {
      ...(isWrite(request) ? headers : Object.fromEntries(request.headers)),
      ...(known && { 'if-none-match': known.etag }),
    }
    let web = fixed?.web ?? random.below(urls.length)
    for (let left = tries; left > 0; left--) {
      const start = performance.now()
      const init = { method, headers: sent, body: text || undefined }
      const answer = await fetchOnce(`${urls[web]}/api/v1${path}`, init, timeoutMs)
      // A client then shows the response that it has stored.
      const received = known && answer.status === 304 ? { ...answer, status: 200, text: known.text } : answer
      const problem = problemOf(received)
      if (problem) invalidResponses.push(`${method} ${path} returned ${problem}`)
      const { status, headers: got, reason } = received
      const end = performance.now()
      if (!isTemporary(status) && !problem) {
        const etag = got.get('etag')
        Object.assign(operation, { status, etag, text: recordedText(path, received), end })
        if (status >= 500) operation.end = Infinity
        if (cached.size >= maxCached) cached.clear()
        if (method === 'GET' && etag) cached.set(callerId + path, { etag, text: received.text })
        recorder.onDone(operation)
        return new Response(status === 204 ? null : received.text, { status, headers: got })
      }
      operation.failures.push({ web, start, end, status, reason })
      const pauseMs = status === 0 ? random.between(20, 200) : Number(got.get('retry-after')) * 1_000
      if (left > 1) await Bun.sleep(Math.min(pauseMs, maxPauseMs))
      if (random.chance(0.5)) web = random.below(urls.length)
    }
    return new Response('', { status: 503 })
  }
  const recorder = {
    operations,
    invalidResponses,
    onDone: (_: Operation): void => {},
    clientOf: ({ id, token }: Pick<Client, 'token'> & { id: string }, fixed?: Fixed): Client =>
      openClient('http://docket', token, (request) => send(request, id, fixed)),
  }
  return recorder
}

async function fetchOnce(url: string, init: RequestInit, timeoutMs: number): Promise<Received> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs) })
    return { status: response.status, text: await response.text(), headers: response.headers, reason: '' }
  } catch (error) {
    const { name, code } = error as { name?: string; code?: unknown }
    const reason = typeof code === 'string' ? code : String(name)
    return { status: 0, text: '', headers: new Headers(), reason }
  }
}

/** Returns why a response breaks the documented contract, or undefined. */
export function problemOf({ status, text, headers }: Omit<Received, 'reason'>): string | undefined {
  const body = parse(text)
  if (status < 400)
    return status === 0 || status === 204 || body ? undefined : `${status} "${text.slice(0, 99)}"`
  const { statusCode, message, error } = body ?? {}
  const hasShape = statusCode === status && typeof message === 'string' && typeof error === 'string'
  if (!hasShape || !(status in reasons) || status === 500) return `${status} ${text.slice(0, 200)}`
  const hasRetryAfter = /^\d+$/.test(headers.get('retry-after') ?? '')
  return status === 503 && !hasRetryAfter ? '503 without Retry-After' : undefined
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
}

type ListedTask = Record<'id' | 'title' | 'status' | 'number', unknown>

/** Returns the fields of listed tasks that are compared with the log; whole lists would need too much memory. */
export const listText = (tasks: ListedTask[]): string =>
  JSON.stringify(tasks.map(({ id, title, status, number }) => [id, title, status, number]))

const recordedText = (path: string, { status, text }: Received): string =>
  path.startsWith('/tasks?') && status === 200 ? listText(JSON.parse(text) as ListedTask[]) : text
