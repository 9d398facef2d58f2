// Requests to the service, and its streams of events.
/** @import { Answer, Call } from './types.js' */

const api = new URL('../api/v1/', import.meta.url)
const [silentMs, requestMs] = [45_000, 30_000] // Three heartbeats of the service, and the time for a response.
export const credentials = { token: '', ended() {} } // `ended` is called when the service rejects the token.
/** An error response; `status` is 0 if there was none. A temporary error may not happen again. */
export class RequestError extends Error {
  constructor(/** @type {number} */ status, /** @type {string} */ message, retryAfterMs = 0) {
    super(message)
    this.status = status
    this.retryAfterMs = retryAfterMs
    this.isTemporary = [0, 408, 429, 502, 503, 504].includes(status)
  }
}

/** @type {(path: string, init: RequestInit & { headers: Record<string, string> }) => Promise<Response>} */
async function send(path, { headers, ...init }) {
  const { token } = credentials
  const sent = { ...init, headers: { ...headers, ...(token && { authorization: `Bearer ${token}` }) } }
  const response = await fetch(new URL(path, api), sent).catch(() => {
    throw new RequestError(0, 'There is no connection to the service.')
  })
  if (response.ok) return response
  if (response.status === 401 && token && token === credentials.token) credentials.ended()
  const { message = `The service answered ${response.status}.` } = await response.json().catch(() => ({}))
  throw new RequestError(response.status, message, Number(response.headers.get('retry-after')) * 1_000)
}

/** @type {(call: Call) => Promise<Answer>} @throws RequestError */ export async function request({ method, path, body, key, ifMatch }) {
  const conditions = { ...(key && { 'idempotency-key': key }), ...(ifMatch && { 'if-match': ifMatch }) }
  const headers = { ...(body && { 'content-type': 'application/json' }), ...conditions }
  const signal = AbortSignal.timeout(requestMs)
  const response = await send(path, { method, headers, signal, body: body ? JSON.stringify(body) : null })
  const [, next = null] = /[?&](cursor=[^&>]*)[^>]*>; rel="next"/.exec(response.headers.get('link') ?? '') ?? []
  const answer = await response.json().catch(() => {
    throw new RequestError(0, 'The connection to the service was lost.')
  })
  return { body: /** @type {never} */ (answer), etag: response.headers.get('etag'), next }
}
export const get = (/** @type {string} */ path) => request({ method: 'GET', path })

/** Reads all pages of a list. */
export async function all(/** @type {string} */ path) {
  const rows = /** @type {never[]} */ ([])
  for (let next = /** @type {string | null} */ (''); next !== null;) {
    const page = await get(`${path}${path.includes('?') ? '&' : '?'}limit=200&${next}`.replace(/&$/, ''))
    rows.push(.../** @type {never[]} */ (page.body))
    next = page.next
  }
  return rows
}

/** Reads server-sent events until the stream ends. EventSource cannot send the token. @type {(path: string, after: number | undefined, signal: AbortSignal, onOpen: () => void, onMessage: (event: string, data: string) => void) => Promise<void>} */
export async function readStream(path, after, signal, onOpen, onMessage) {
  const silence = new AbortController()
  const abort = () => silence.abort()
  let timer = setTimeout(abort, silentMs)
  try {
    const headers = { accept: 'text/event-stream', ...(after !== undefined && { 'last-event-id': String(after) }) }
    const response = await send(path, { headers, cache: 'no-store', signal: AbortSignal.any([signal, silence.signal]) })
    onOpen()
    const decoder = new TextDecoder()
    const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader()
    for (let rest = '', read = await reader.read(); !read.done; read = await reader.read()) {
      clearTimeout(timer)
      timer = setTimeout(abort, silentMs)
      const blocks = (rest + decoder.decode(read.value, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const valueOf = (/** @type {string} */ name) =>
          block
            .split('\n')
            .find((line) => line.startsWith(name))
            ?.slice(name.length)
        const data = valueOf('data: ')
        if (data) onMessage(valueOf('event: ') ?? '', data)
      }
    }
  } finally {
    clearTimeout(timer)
    abort()
  }
}

/** Returns a UUIDv7. `crypto.randomUUID` exists only with HTTPS and on localhost. */
export function newId() {
  const [a = 0, b = 0, ...rest] = crypto.getRandomValues(new Uint16Array(5))
  const [x, y, ...z] = [0x7000 | (a & 0x0fff), 0x8000 | (b & 0x3fff), ...rest].map((part) => part.toString(16).padStart(4, '0'))
  const time = Date.now().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-${x}-${y}-${z.join('')}`
}
