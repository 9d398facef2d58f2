import { createHash } from 'node:crypto'
import { type FindRecord, type IdempotencyKey, replay } from '../commit/idempotency.ts'
import { parsedUrl, type Reply } from '../responses/reply.ts'
import { invalidIdempotencyKey, HttpError } from '../responses/errors.ts'

/** Errors of a repeat whose first request took away its own rights, its target or its id. */
const mayBeRepeat = new Set([403, 404, 409])

export type WithIdempotency = ReturnType<typeof openWithIdempotency>

/**
 * Runs a write once under an Idempotency-Key, and returns its reply to each repeat. The commit does the work of a key once.
 * The first look-up finds the reply even when the target was deleted since; the second one finds that of a faster request
 * with the same key. `isSame` compares a digest with a stored fingerprint that is not the digest itself. @throws HttpError 422
 */
export const openWithIdempotency =
  (findRecord: FindRecord) =>
  async (
    guard: IdempotencyKey,
    work: () => Promise<Reply>,
    isSame?: (digest: string, stored: string) => Promise<boolean>,
  ): Promise<Reply & { replayed?: true }> => {
    const repeated = async () => {
      const kept = await findRecord(guard)
      return kept && replay(kept, (await isSame?.(guard.fingerprint, kept.fingerprint)) ? kept : guard)
    }
    const before = await repeated()
    if (before) return before
    try {
      return await work()
    } catch (error) {
      // A write with a secret may also have ended the token that it came with, or taken the one in its body.
      const mayRepeat = isSame || (error instanceof HttpError && mayBeRepeat.has(error.status))
      const done = mayRepeat && (await repeated())
      if (done) return done
      throw error
    }
  }

/** Reads `Idempotency-Key`, quoted or bare. @throws HttpError 400 */
export function readIdempotencyKey(
  request: Request,
  scope: string,
  body: unknown,
): IdempotencyKey | undefined {
  const header = request.headers.get('idempotency-key')
  if (header === null) return undefined
  const key = /^"(.*)"$/.exec(header.trim())?.[1]?.replace(/\\(["\\])/g, '$1') ?? header.trim()
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) throw invalidIdempotencyKey()
  const { pathname, search } = parsedUrl(request)
  const said = `${request.method} ${pathname}${search}\n${JSON.stringify(body ?? null)}`
  return { scope, key, fingerprint: createHash('sha256').update(said).digest('base64url') }
}
