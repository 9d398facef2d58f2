import { createHash } from 'node:crypto'
import { type FindKept, type Guard, replay } from '../commit/idempotency.ts'
import { parsedPath, type Reply } from '../wire/answers.ts'
import { badKey, Refusal } from '../wire/refusals.ts'

/** Compares the digest of a request with a stored fingerprint that is not the digest itself. */
type IsSame = (digest: string, stored: string) => Promise<boolean>

/** Runs a write once under an Idempotency-Key, and gives its answer to each repeat. @throws Refusal 422 */
export type WithIdempotency = (
  guard: Guard,
  work: () => Promise<Reply>,
  isSame?: IsSame,
) => Promise<Reply & { replayed?: true }>

/** How a repeat may be rejected because the first request took its own rights, its target or its id. */
const mayBeRepeat = new Set([403, 404, 409])

/**
 * The commit sees to it that a key's work is done once. Looking first finds the answer also after the very thing was
 * deleted, and looking again that of a request with the same key that was faster.
 */
export const openWithIdempotency =
  (findKept: FindKept): WithIdempotency =>
  async (guard, work, isSame) => {
    const repeated = async () => {
      const kept = await findKept(guard)
      if (!kept) return undefined
      return replay(kept, (await isSame?.(guard.fingerprint, kept.fingerprint)) ? kept : guard)
    }
    const before = await repeated()
    if (before) return before
    try {
      return await work()
    } catch (error) {
      // A write with a secret may also have ended the token that it came with, or taken the one in its body.
      const isRejected = error instanceof Refusal && mayBeRepeat.has(error.status)
      const done = isSame || isRejected ? await repeated() : undefined
      if (!done) throw error
      return done
    }
  }

/**
 * Reads `Idempotency-Key`, a quoted string or bare; undefined without one.
 * @throws Refusal 400
 */
export function readGuard(request: Request, scope: string, body: unknown): Guard | undefined {
  const header = request.headers.get('idempotency-key')
  if (header === null) return undefined
  const key = /^"(.*)"$/.exec(header.trim())?.[1]?.replace(/\\(["\\])/g, '$1') ?? header.trim()
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw badKey()
  }
  const { pathname, search } = parsedPath(request)
  const said = `${request.method} ${pathname}${search}\n${JSON.stringify(body ?? null)}`
  return { scope, key, fingerprint: createHash('sha256').update(said).digest('base64url') }
}
