import { badRequest, Refusal } from '../wire/refusals.ts'
import { requireBounded } from './json-bounds.ts'

/** Before sign-in: more than any body there needs. */
export const openBodyBytes = 16_384

/**
 * How much of a body the server takes in at all, past its limit only to throw it away: who sends it to its end gets
 * to the refusal. Who goes on is cut off.
 */
export const mostReceivedBytes = 33_554_432

/** Drops a byte order mark. What is not UTF-8 is refused, for guessing would store something else. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

export const notJson = () => new Refusal(415, 'The body must be sent with Content-Type: application/json')
export const notUtf8 = () => new Refusal(415, 'The body must be sent in UTF-8')
export const encoded = () =>
  new Refusal(415, 'The body must be sent without a Content-Encoding', { 'accept-encoding': 'identity' })
export const tooLarge = (limitBytes: number) =>
  new Refusal(413, `The body must be at most ${limitBytes} bytes`)
export const tooSlow = (timeoutMs: number) =>
  new Refusal(408, `The body must arrive within ${timeoutMs} ms`, { connection: 'close' })

/**
 * Reads a JSON body that is small, flat and soon there.
 * @throws Refusal 415, 413, 408 or 400
 */
export async function readBody(request: Request, limitBytes: number, timeoutMs: number): Promise<unknown> {
  const { headers } = request
  requireJson(headers)
  const length = headers.get('content-length')
  if (Number(length) > limitBytes) throw tooLarge(limitBytes)
  const reading = length === null ? bytesOf(request, limitBytes) : request.bytes()
  const bytes = await inTime(reading, timeoutMs)
  if (bytes.length > limitBytes) throw tooLarge(limitBytes)
  requireBounded(bytes)
  return parsed(bytes)
}

/** False for a request without a body, or with an empty one. */
export const hasBody = ({ body, headers }: Request): boolean =>
  body !== null && headers.get('content-length') !== '0'

/** @throws Refusal 415 */
function requireJson(headers: Headers): void {
  const type = headers.get('content-type') ?? ''
  if (type === 'application/json' && !headers.has('content-encoding')) return
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw notJson()
  }
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(type)?.[1] ?? 'utf-8'
  if (!/^utf-?8$/i.test(charset)) throw notUtf8()
  const coding = headers.get('content-encoding') ?? 'identity'
  if (!/^identity$/i.test(coding)) {
    throw encoded()
  }
}

/** @throws Refusal 413 */
export function requireSmall({ headers }: Request, limitBytes: number): void {
  if (Number(headers.get('content-length')) > limitBytes) throw tooLarge(limitBytes)
}

/** The bytes of a body of unknown length: no more than `limitBytes` are kept. */
async function bytesOf(request: Request, limitBytes: number): Promise<Uint8Array> {
  // Into one buffer that doubles: a million chunks of one byte are not kept as a million objects.
  let bytes = new Uint8Array(16_384)
  let size = 0
  for await (const chunk of request.body ?? []) {
    if (size + chunk.length > limitBytes) throw tooLarge(limitBytes)
    if (size + chunk.length > bytes.length) {
      const larger = new Uint8Array(Math.max(size + chunk.length, 2 * bytes.length))
      larger.set(bytes.subarray(0, size))
      bytes = larger
    }
    bytes.set(chunk, size)
    size += chunk.length
  }
  return bytes.subarray(0, size)
}

/** @throws Refusal 400 */
function parsed(bytes: Uint8Array): unknown {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw badRequest('The body must be valid UTF-8')
  }
  try {
    return JSON.parse(text)
  } catch {
    throw badRequest('The body must be valid JSON')
  }
}

/** A body that is being read, and when its time is over. */
interface Reading {
  until: number
  timeoutMs: number
  reject: (error: Refusal) => void
}

const readings = new Set<Reading>()
let timer: ReturnType<typeof setTimeout> | undefined
let timerAt = Infinity

/** Rejects slow bodies, because each keeps a connection and memory. One timer serves all: a timer of its own costs 1 µs. */
function inTime<T>(bytes: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const reading = { until: performance.now() + timeoutMs, timeoutMs, reject }
    readings.add(reading)
    if (reading.until < timerAt) setTimer(reading.until)
    bytes.then(
      (value) => {
        readings.delete(reading)
        resolve(value)
      },
      (error: unknown) => {
        readings.delete(reading)
        // Whatever breaks off a body is the sender's doing.
        reject(error instanceof Refusal ? error : badRequest('The body could not be read to its end'))
      },
    )
  })
}

function setTimer(at: number): void {
  clearTimeout(timer)
  timerAt = at
  timer = at === Infinity ? undefined : setTimeout(rejectSlow, at - performance.now())
}

function rejectSlow(): void {
  const now = performance.now()
  let next = Infinity
  for (const reading of readings) {
    if (reading.until > now) next = Math.min(next, reading.until)
    else {
      readings.delete(reading)
      reading.reject(tooSlow(reading.timeoutMs))
    }
  }
  setTimer(next)
}
