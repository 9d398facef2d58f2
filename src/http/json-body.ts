import { Elysia } from 'elysia'
import type { Config } from '../config.ts'
import { badRequest, HttpError } from '../responses/errors.ts'

/** The body limit for requests without a token. */
export const signInBodyBytes = 16_384

/**
 * The server reads a body up to this size, even if the body exceeds the limit of its route, because many clients read
 * the error only after they have sent the whole body. For a larger body the server closes the connection.
 */
export const maxReceivedBytes = 33_554_432

const utf8 = new TextDecoder('utf-8', { fatal: true })

export const notJson = () => new HttpError(415, 'The body must be sent with Content-Type: application/json')
export const notUtf8 = () => new HttpError(415, 'The body must be sent in UTF-8')
export const contentEncoded = () =>
  new HttpError(415, 'The body must be sent without a Content-Encoding', { 'accept-encoding': 'identity' })
export const tooLarge = (limitBytes: number) =>
  new HttpError(413, `The body must be at most ${limitBytes} bytes`)
export const tooSlow = (timeoutMs: number) =>
  new HttpError(408, `The body must arrive within ${timeoutMs} ms`, { connection: 'close' })

type BodyLimits = Pick<Config, 'bodyBytes' | 'bodyTimeoutMs'>

/** Elysia's own parser would run before authentication (https://elysiajs.com/essential/life-cycle). */
export const jsonBodyPlugin = (limits: BodyLimits) =>
  new Elysia({ name: 'body-reading', seed: limits.bodyBytes }).macro({
    jsonBody: (kind: 'required' | 'optional') => ({
      parse: () => ({}),
      async transform(context: { request: Request; body: unknown }) {
        const { request } = context
        context.body = kind === 'optional' && isEmpty(request) ? {} : await readJson(request, limits)
      },
    }),
  })

const isEmpty = ({ body, headers }: Request): boolean =>
  body === null || headers.get('content-length') === '0'

/** Returns the parsed body. @throws HttpError 400, 408, 413 or 415 */
export async function readJson(request: Request, { bodyBytes, bodyTimeoutMs }: BodyLimits): Promise<unknown> {
  requireJson(request.headers)
  requireSmall(request, bodyBytes)
  const hasLength = request.headers.has('content-length')
  const bytes = await withTimeout(hasLength ? request.bytes() : readBytes(request, bodyBytes), bodyTimeoutMs)
  if (bytes.length > bodyBytes) throw tooLarge(bodyBytes)
  requireBounded(bytes)
  return parsed(bytes)
}

function requireJson(headers: Headers): void {
  const type = headers.get('content-type') ?? ''
  if (type === 'application/json' && !headers.has('content-encoding')) return
  if (!/^application\/json\s*(;|$)/i.test(type)) throw notJson()
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(type)?.[1] ?? 'utf-8'
  if (!/^utf-?8$/i.test(charset)) throw notUtf8()
  if (!/^identity$/i.test(headers.get('content-encoding') ?? 'identity')) throw contentEncoded()
}

export function requireSmall({ headers }: Request, limitBytes: number): void {
  if (Number(headers.get('content-length')) > limitBytes) throw tooLarge(limitBytes)
}

/** Reads a body of unknown length into one buffer that doubles, so that many small chunks use little memory. */
async function readBytes(request: Request, limitBytes: number): Promise<Uint8Array> {
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

/** More levels than any body needs, and far too few to overflow the stack of a recursive function. */
const maxLevels = 32
/** The most keys and elements in a body. A batch of 500 operations with every field has half of this number. */
const maxParts = 50_000

const tooManyParts = () => badRequest(`The body must have at most ${maxParts} keys and elements`)

const [quote, comma, backslash] = [0x22, 0x2c, 0x5c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Parsing deeply nested lists takes a hundred times as long as this count of commas and opening brackets. */
function requireBounded(bytes: Uint8Array): void {
  let [levels, parts] = [0, 0]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) at = endOfString(bytes, at)
    else if (byte === openList || byte === openObject) {
      if (++levels > maxLevels)
        throw badRequest(`The body must not be nested deeper than ${maxLevels} levels`)
      if (++parts > maxParts) throw tooManyParts()
    } else if (byte === closeList || byte === closeObject) levels--
    else if (byte === comma && ++parts > maxParts) throw tooManyParts()
  }
}

function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
  return at
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch (error) {
    throw badRequest(`The body must be valid ${error instanceof SyntaxError ? 'JSON' : 'UTF-8'}`)
  }
}

function withTimeout<T>(bytes: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(tooSlow(timeoutMs)), timeoutMs)
    const endedEarly = () => badRequest('The body ended before its last byte arrived')
    bytes
      .then(resolve, (error: unknown) => reject(error instanceof HttpError ? error : endedEarly()))
      .finally(() => clearTimeout(timer))
  })
}
