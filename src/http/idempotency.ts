import { createHash } from 'node:crypto'
import { type FindRecord, type IdempotencyKey, replay } from '../commit/idempotency.ts'
import { parsedUrl, type Reply } from '../responses/reply.ts'
import { invalidIdempotencyKey, HttpError } from '../responses/errors.ts'

/** A retry fails if the first request removed the caller's rights (403) or the target (404), or used the id (409). */
const statusesOfRetry = new Set([403, 404, 409])

export type WithIdempotency = ReturnType<typeof openWithIdempotency>

/**
 * Returns the stored reply to a retry. Searches for the reply before the write, and again after an error, because a
 * concurrent request with the same key may have run the write.
 */
export const openWithIdempotency =
  (findRecord: FindRecord) =>
  async (
    key: IdempotencyKey,
    write: () => Promise<Reply>,
    isSame?: (digest: string, stored: string) => Promise<boolean>,
  ): Promise<Reply & { replayed?: true }> => {
    const findReply = async () => {
      const record = await findRecord(key)
      return record && replay(record, (await isSame?.(key.fingerprint, record.fingerprint)) ? record : key)
    }
    const earlier = await findReply()
    if (earlier) return earlier
    try {
      return await write()
    } catch (error) {
      // The first attempt may have used up a mail token, so a retry of a write with a secret may fail with any status.
      const mayBeRetry = isSame || (error instanceof HttpError && statusesOfRetry.has(error.status))
      const reply = mayBeRetry && (await findReply())
      if (reply) return reply
      throw error
    }
  }

const contents = new WeakMap<Request, unknown>()

/** Makes the fingerprint of the request depend on `content` in place of the body, which may differ in a retry. */
export const fingerprintBy = (request: Request, content: unknown): void => void contents.set(request, content)

/** Reads `Idempotency-Key`, with or without quotes. */
export function readIdempotencyKey(request: Request, scope: string, body: unknown) {
  const header = request.headers.get('idempotency-key')
  if (header === null) return undefined
  const key = /^"(.*)"$/.exec(header.trim())?.[1]?.replace(/\\(["\\])/g, '$1') ?? header.trim()
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) throw invalidIdempotencyKey()
  const { pathname, search } = parsedUrl(request)
  const content = `${request.method} ${pathname}${search}\n${JSON.stringify(contents.get(request) ?? body ?? null)}`
  const fingerprint = createHash('sha256').update(content).digest('base64url')
  return { scope, key, fingerprint } satisfies IdempotencyKey
}
