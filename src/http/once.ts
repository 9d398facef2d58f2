import { type FindKept, type Guard, type Kept, replay } from '../commit/idempotency.ts'
import type { Reply } from '../wire/reply.ts'
import type { Passwords } from '../identity/passwords.ts'
import type { Claims, Tokens } from '../identity/tokens.ts'
import { readGuard, send } from './write.ts'

/** An answer about an account. Of a token it carries only the claims, from which the same token is made again. */
export interface Draft {
  status: number
  body: object
  claims?: Claims
  etag?: string
}

/** What to keep of an answer, in the very statement that does the work; nothing without an Idempotency-Key. */
export type Keep = (draft: Draft) => Kept | undefined

export type Once = (
  request: Request,
  /** Whose key it is, and how a password that comes with it may be checked. */
  by: { scope: string; guess: (isRight: () => Promise<boolean>) => Promise<boolean> },
  body: unknown,
  work: (keep: Keep) => Promise<Draft>,
) => Promise<Response>

/**
 * Runs a write on an account under its Idempotency-Key. Bodies hold passwords here, so what tells a repeat from
 * another request is kept as argon2id, and tokens are not kept at all.
 */
export function openOnce(findKept: FindKept, passwords: Passwords, tokens: Tokens): Once {
  const complete = async ({ claims, ...rest }: { claims?: Claims }) =>
    JSON.stringify(claims ? { access_token: await tokens.sign(claims), ...rest } : rest)

  /** @throws Refusal 422 when the key was used for another request. */
  async function repeated(guard: Guard, { guess }: Parameters<Once>[1]): Promise<Response | undefined> {
    const kept = await findKept(guard)
    if (!kept) return undefined
    const isSlow = kept.fingerprint.startsWith('$argon2')
    // Who has the key and not the password would be guessing it.
    const isSame = isSlow && (await guess(() => passwords.matches(guard.fingerprint, kept.fingerprint)))
    const reply = replay(kept, isSame ? kept : guard)
    return secret({ ...reply, body: await complete(JSON.parse(reply.body)) })
  }

  async function answered({ status, body, claims, etag = '' }: Draft): Promise<Response> {
    return secret({ status, body: await complete({ claims, ...body }), etag: etag || null })
  }

  return async (request, by, body, work) => {
    const guard = readGuard(request, by.scope, body)
    if (!guard) return answered(await work(() => undefined))
    const before = await repeated(guard, by)
    if (before) return before
    const fingerprint = await passwords.hash(guard.fingerprint)
    try {
      return await answered(await work((draft) => keptOf({ ...guard, fingerprint }, draft)))
    } catch (error) {
      // Somebody with the same key was faster, or the connection was cut after the commit.
      const done = await repeated(guard, by)
      if (!done) throw error
      return done
    }
  }
}

/** No cache on the way may keep a token. What is made here is an account, the caller's own. */
function secret(reply: Parameters<typeof send>[0]): Response {
  const response = send(reply, () => '/auth/me')
  response.headers.set('cache-control', 'no-store')
  return response
}

function keptOf(guard: Guard, { status, body, claims, etag = '' }: Draft): Kept {
  const reply: Reply = { status, body: JSON.stringify({ claims, ...body }), etag: etag || null }
  return { ...guard, ...reply }
}
