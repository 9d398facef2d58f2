import { badRequest, HttpError } from '../../../src/responses/errors.ts'

export const endedEarly = () => badRequest('The body ended before its last byte arrived')
export const stalled = (timeoutMs: number) =>
  new HttpError(408, `No part of the body arrived for ${timeoutMs} ms`, { connection: 'close' })

/**
 * Yields the parts of a body as they arrive, with backpressure: a slow consumer makes the client wait.
 * @throws HttpError 408 if no part arrives within `timeoutMs`, 400 if the body is incomplete
 */
export async function* partsOf({ body, headers, signal }: Request, timeoutMs: number) {
  const reader = body?.getReader()
  let received = 0
  try {
    for (;;) {
      const { value, done } = (await nextPart(reader, timeoutMs)) ?? { done: true }
      if (done) break
      received += value!.length
      yield value as Uint8Array
    }
    if (signal.aborted || received < Number(headers.get('content-length'))) throw endedEarly()
  } finally {
    reader?.cancel().catch(() => {})
  }
}

/** Without this, hundreds of megabytes of parts accumulate until the garbage collector frees them (measured). */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

async function nextPart(reader: Reader | undefined, timeoutMs: number) {
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => timeout.reject(stalled(timeoutMs)), timeoutMs)
  const part = reader?.read().catch(() => Promise.reject(endedEarly()))
  return Promise.race([part, timeout.promise]).finally(() => clearTimeout(timer))
}
