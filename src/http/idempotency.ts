import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type FindRecord, type IdempotencyKey, recordName, replay } from '../commit/idempotency.ts'
import { pathAndQuery, type Reply } from '../responses/reply.ts'
import { invalidIdempotencyKey, HttpError } from '../responses/errors.ts'

/** The maximum number of remembered keys. For a retry with such a key, the stored reply is searched first. */
const maxRepeatedKeys = 10_000

/**
 * Returns the stored reply to a retry. The actor replays a stored reply too, so that a write with a new key causes no
 * search here. After an error, the reply is searched, because the first attempt may have removed the caller's rights or
 * the target, or have used the id. A key that was repeated before is searched first, so that a client that repeats one
 * key does not disturb the commits of its project.
 * @param isSame compares two fingerprints of a write that no actor executes, or whose body contains a secret
 */
export function openWithIdempotency(findRecord: FindRecord) {
  const repeated = new LRUCache<string, true>({ max: maxRepeatedKeys })
  return async (
    key: IdempotencyKey,
    write: () => Promise<Reply>,
    isSame?: (digest: string, stored: string) => Promise<boolean>,
  ): Promise<Reply> => {
    const findReply = async () => {
      const record = await findRecord(key)
      if (!record) return undefined
      repeated.set(recordName(key), true)
      return replay(record, (await isSame?.(key.fingerprint, record.fingerprint)) ? record : key)
    }
    const isRepeated = isSame !== undefined || (repeated.size > 0 && repeated.has(recordName(key)))
    const earlier = isRepeated && (await findReply())
    if (earlier) return earlier
    try {
      const reply = await write()
      if (reply.replayed) repeated.set(recordName(key), true)
      return reply
    } catch (error) {
      // The first attempt may have used up a mail token, so a retry of a write with a secret may fail with any status.
      const mayBeRetry = isSame || (error instanceof HttpError && error.status < 500)
      const reply = mayBeRetry && (await findReply())
      if (reply) return reply
      throw error
    }
  }
}

/** Reads `Idempotency-Key`, with or without quotes. */
export function readIdempotencyKey(request: Request, scope: string, body: unknown) {
  const header = request.headers.get('idempotency-key')
  if (header === null) return undefined
  const key = /^"(.*)"$/.exec(header.trim())?.[1]?.replace(/\\(["\\])/g, '$1') ?? header.trim()
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) throw invalidIdempotencyKey()
  // A `?` without parameters never belonged to the fingerprints of stored keys.
  const path = pathAndQuery(request).replace(/\?$/, '')
  const content = `${request.method} ${path}\n${JSON.stringify(body ?? null)}`
  const fingerprint = createHash('sha256').update(content).digest('base64url')
  return { scope, key, fingerprint } satisfies IdempotencyKey
}
