import { type FindKept, type Guard, type Kept, replay } from '../commit/idempotency.ts'
import type { Reply } from '../wire/reply.ts'
import type { Source } from '../identity/fair-queue.ts'
import type { Fingerprints } from '../identity/fingerprints.ts'
import type { Claims, Tokens } from '../identity/tokens.ts'
import type { Sealing } from '../identity/sealed.ts'
import { conflict } from '../wire/refusals.ts'
import { type MadeAt, readGuard, send } from './write.ts'

interface Keys {
  fingerprints: Fingerprints
  tokens: Tokens
  sealing: Sealing
}

/** What is kept of a secret that is answered: nobody can read it out of the database. */
interface Secrets {
  /** Of a sign-in token only what it claims, from which the same token is made again. */
  claims?: Claims
  /** What nothing makes again, by the name that it has in the answer: sealed. */
  sealed?: Record<string, string>
}

/** An answer about an account. */
export interface Draft extends Secrets {
  status: number
  body: object
  etag?: string
}

/** What to keep of an answer, in the very statement that does the work; nothing without an Idempotency-Key. */
export type Keep = (draft: Draft) => Kept | undefined

interface By {
  /** Whose key it is. */
  scope: string
  /** How a password that comes with it may be checked. */
  guess: (isRight: () => Promise<boolean>) => Promise<boolean>
  /** In whose turn it is hashed; by default in that of the key's holder. */
  source?: Source
  /** Rejects, before its fingerprint is made, a request that is no repeat. */
  admit?: () => Promise<void>
  /** Where what is made is read. */
  madeAt: MadeAt
}

export type Once = (
  request: Request,
  by: By,
  body: unknown,
  work: (keep: Keep) => Promise<Draft>,
) => Promise<Response>

/** The Idempotency-Key for a command that keeps its reply in its own commit. */
export function guardOf(keep: Keep): Guard | undefined {
  const { scope, key, fingerprint } = keep({ status: 200, body: {} }) ?? {}
  return key === undefined ? undefined : { scope: scope!, key, fingerprint: fingerprint! }
}

/** The reply of a command whose view shows secrets as `sealed`. */
export function draftOf({ status, body, etag }: Reply): Draft {
  const { sealed, ...rest } = JSON.parse(body) as Secrets
  return { status, body: rest, sealed, ...(etag && { etag }) }
}

/** Tells an answer with its secret in it. */
const openComplete =
  ({ tokens, sealing }: Pick<Keys, 'tokens' | 'sealing'>) =>
  async ({ claims, sealed, id, ...rest }: Secrets & { id?: string }): Promise<string> => {
    if (claims) return JSON.stringify({ access_token: await tokens.sign(claims), id, ...rest })
    if (sealed === undefined) return JSON.stringify({ id, ...rest })
    const opened = Object.entries(sealed).map(([name, box]) => [name, sealing.open(box)])
    if (opened.some(([, text]) => text === null)) throw unreadable()
    return JSON.stringify({ id, ...Object.fromEntries(opened), ...rest })
  }

/**
 * Runs a write on an account under its Idempotency-Key. Bodies may hold passwords here, so of the request only its
 * fingerprint is kept, and tokens are not kept at all, or sealed.
 */
export function openOnce(findKept: FindKept, { fingerprints, ...keys }: Keys): Once {
  const complete = openComplete(keys)

  /** @throws Refusal 422 when the key was used for another request. */
  async function repeated(guard: Guard, by: By): Promise<Response | undefined> {
    const kept = await findKept(guard)
    if (!kept) return undefined
    // Who has the key and not the password would be guessing it.
    const isSame = await fingerprints.isSame(guard.fingerprint, kept.fingerprint, {
      ...sourceOf(by),
      guess: by.guess,
    })
    const reply = replay(kept, isSame ? kept : guard)
    return secret({ ...reply, body: await complete(JSON.parse(reply.body)) }, by.madeAt)
  }

  async function answered(draft: Draft, { madeAt }: By): Promise<Response> {
    const { status, body, claims, sealed, etag = '' } = draft
    return secret({ status, body: await complete({ claims, sealed, ...body }), etag: etag || null }, madeAt)
  }

  return async (request, by, body, work) => {
    const guard = readGuard(request, by.scope, body)
    const before = guard && (await repeated(guard, by))
    if (before) return before
    try {
      await by.admit?.()
      const key = guard && {
        ...guard,
        fingerprint: await fingerprints.of(guard.fingerprint, body, sourceOf(by)),
      }
      return await answered(await work((draft) => key && keptOf(key, draft)), by)
    } catch (error) {
      // Somebody with the same key was faster, or the connection was cut after the commit.
      const done = guard && (await repeated(guard, by))
      if (!done) throw error
      return done
    }
  }
}

const sourceOf = ({ source, scope }: By): Source => source ?? { address: scope, account: scope }

export const unreadable = () =>
  conflict('What was answered under this Idempotency-Key cannot be read any more')

/** No cache on the way may keep a token. */
function secret(reply: Parameters<typeof send>[0], madeAt: MadeAt): Response {
  const response = send(reply, madeAt)
  response.headers.set('cache-control', 'no-store')
  return response
}

function keptOf(guard: Guard, { status, body, claims, sealed, etag = '' }: Draft): Kept {
  const reply: Reply = { status, body: JSON.stringify({ claims, sealed, ...body }), etag: etag || null }
  return { ...guard, ...reply }
}
