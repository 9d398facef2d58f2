import type { TSchema } from '@sinclair/typebox'
import type { Config } from '../config.ts'
import { badRequest, HttpError } from '../responses/errors.ts'
import { openCheck } from '../schema/validation.ts'

/** The body limit for requests without a token. */
export const signInBodyBytes = 16_384

/**
 * The server reads a body up to this size, even if the body exceeds the limit of its route, because many clients read
 * the error only after they have sent the whole body. For a larger body the server closes the connection.
 */
export const maxReceivedBytes = 33_554_432

const utf8 = new TextDecoder('utf-8', { fatal: true })

export const notJson = () => new HttpError(415, 'The body must be sent with Content-Type: application/json')
const bodyAndTypeMissing = () =>
  new HttpError(415, 'A body is required: send a JSON object with Content-Type: application/json')
export const notUtf8 = () => new HttpError(415, 'The body must be sent in UTF-8')
export const contentEncoded = () =>
  new HttpError(415, 'The body must be sent without a Content-Encoding', { 'accept-encoding': 'identity' })
export const tooLarge = (limitBytes: number) =>
  new HttpError(413, `The body must be at most ${limitBytes} bytes`)
export const tooSlow = (timeoutMs: number) =>
  new HttpError(408, `The body must arrive within ${timeoutMs} ms`, { connection: 'close' })

export type BodyLimits = Pick<Config, 'bodyBytes' | 'bodyTimeoutMs'>

const isEmpty = ({ body, headers }: Request): boolean =>
  body === null || headers.get('content-length') === '0'

/** @param bodyBytes the limit of the route, if it is not the general limit */
export type ReadBody = (context: { request: Request; bodyBytes?: number }) => Promise<unknown>

/** Returns a function that reads a body and checks it against the schema; undefined for a route without a body. */
export function openReadBody(limits: BodyLimits, schema?: TSchema): ReadBody | undefined {
  if (!schema) return undefined
  const check = openCheck(schema)
  return async ({ request, bodyBytes = limits.bodyBytes }) => {
    const isAbsent = schema.default !== undefined && isEmpty(request)
    const body = isAbsent ? {} : parsed(await receive(request, bodyBytes, limits.bodyTimeoutMs), bodyBytes)
    check(body)
    return body
  }
}

/** Returns the parsed body. @throws HttpError 400, 408, 413 or 415 */
export const readJson = async (
  request: Request,
  { bodyBytes, bodyTimeoutMs }: BodyLimits,
): Promise<unknown> => parsed(await receive(request, bodyBytes, bodyTimeoutMs), bodyBytes)

function receive(request: Request, bodyBytes: number, timeoutMs: number): Promise<Uint8Array> {
  requireJson(request)
  const length = requireSmall(request, bodyBytes)
  const received = length === null ? readBytes(request, bodyBytes) : request.bytes()
  return withTimeout(received, timeoutMs)
}

function requireJson(request: Request): void {
  const { headers } = request
  const type = headers.get('content-type') ?? ''
  if (type === 'application/json' && !headers.has('content-encoding')) return
  if (!/^application\/json\s*(;|$)/i.test(type)) throw isEmpty(request) ? bodyAndTypeMissing() : notJson()
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(type)?.[1] ?? 'utf-8'
  if (!/^utf-?8$/i.test(charset)) throw notUtf8()
  if (!/^identity$/i.test(headers.get('content-encoding') ?? 'identity')) throw contentEncoded()
}

/** Returns the Content-Length, null without one. @throws HttpError 413 */
export function requireSmall({ headers }: Request, limitBytes: number): string | null {
  const length = headers.get('content-length')
  if (Number(length) > limitBytes) throw tooLarge(limitBytes)
  return length
}

/** Reads a body of unknown length into one buffer that doubles, so that many small chunks use little memory. */
async function readBytes(request: Request, limitBytes: number): Promise<Uint8Array> {
  let bytes = new Uint8Array(16_384)
  let size = 0
  for await (const chunk of request.body ?? []) {
    const needed = size + chunk.length
    if (needed > limitBytes) throw tooLarge(limitBytes)
    if (needed > bytes.length) {
      const smaller = bytes
      bytes = new Uint8Array(Math.max(needed, 2 * smaller.length))
      bytes.set(smaller)
    }
    bytes.set(chunk, size)
    size = needed
  }
  return bytes.subarray(0, size)
}

/**
 * The maximum number of nested levels: more than any valid body has, and far too few to overflow the stack of a
 * recursive function.
 */
const maxLevels = 32
/** The maximum number of keys and elements in a body. A batch of 500 operations with every field has half of this number. */
const maxParts = 50_000

const [quote, comma, backslash] = [0x22, 0x2c, 0x5c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Counts brackets, also those in strings, because a search is much faster than a loop over the bytes. */
const hasManyLevels = (bytes: Uint8Array): boolean =>
  countUpTo(maxLevels + 1, bytes, openList) + countUpTo(maxLevels + 1, bytes, openObject) > maxLevels

function countUpTo(max: number, bytes: Uint8Array, byte: number): number {
  let count = 0
  for (let at = bytes.indexOf(byte); at >= 0 && count < max; at = bytes.indexOf(byte, at + 1)) count++
  return count
}

/** Parsing deeply nested lists takes a hundred times as long as this count of commas and opening brackets. */
function requireBounded(bytes: Uint8Array): void {
  let [levels, parts, isInString] = [0, 0, false]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    const isOpening = byte === openList || byte === openObject
    if (byte === quote) isInString = !isInString
    else if (isInString) at += byte === backslash ? 1 : 0
    else if (isOpening || byte === comma) {
      if (isOpening && ++levels > maxLevels)
        throw badRequest(`The body must not be nested deeper than ${maxLevels} levels`)
      if (++parts > maxParts) throw badRequest(`The body must have at most ${maxParts} keys and elements`)
    } else if (byte === closeList || byte === closeObject) levels--
  }
}

function parsed(bytes: Uint8Array, bodyBytes: number): unknown {
  if (bytes.length > bodyBytes) throw tooLarge(bodyBytes)
  if (bytes.length > maxParts || hasManyLevels(bytes)) requireBounded(bytes)
  if (bytes.length === 0) throw badRequest('A body is required: send a JSON object')
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch (error) {
    throw badRequest(`The body must be valid ${error instanceof SyntaxError ? 'JSON' : 'UTF-8'}`)
  }
}

const endedEarly = () => badRequest('The body ended before its last byte arrived')

const withTimeout = <T>(bytes: Promise<T>, timeoutMs: number): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(tooSlow(timeoutMs)), timeoutMs)
    bytes.then(
      (received) => {
        clearTimeout(timer)
        resolve(received)
      },
      (error) => {
        clearTimeout(timer)
        reject(error instanceof HttpError ? error : endedEarly())
      },
    )
  })
