import { badRequest, Refusal } from './errors.ts'
import { isDeeper } from './validation.ts'
import { readJson } from './wire.ts'

/** More than any body here needs, and far from what overflows a stack that follows it down. */
const bodyLevels = 32

/**
 * Reads a JSON body that is small, flat and soon there.
 * @throws Refusal 415, 413, 408 or 400
 */
export async function readBody(request: Request, limitBytes: number, timeoutMs: number): Promise<unknown> {
  const body = await inTime(readJson(request, limitBytes), timeoutMs)
  if (isDeeper(body, bodyLevels)) {
    throw badRequest(`The body must not be nested deeper than ${bodyLevels} levels`)
  }
  return body
}

/** Who sends slowly keeps a connection and memory: it is told so, and the connection closed. */
function inTime<T>(reading: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () =>
      reject(new Refusal(408, `The body must arrive within ${timeoutMs} ms`, { connection: 'close' }))
    const timer = setTimeout(late, timeoutMs)
    reading.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (error: unknown) => {
        clearTimeout(timer)
        // Whatever breaks off a body is the sender's doing.
        reject(error instanceof Refusal ? error : badRequest('The body could not be read to its end'))
      },
    )
  })
}
