import { LRUCache } from 'lru-cache'
import type { Sql } from '../postgres/database.ts'
import { badToken, noToken } from '../wire/refusals.ts'
import type { Caller } from './caller.ts'
import type { Tokens } from './tokens.ts'
import { openValidity, type Session } from './validity.ts'

export type Authenticate = ReturnType<typeof openAuthenticate>

/** Finds who sends a request: verifies the bearer token, that its user exists and that nobody revoked it. */
export function openAuthenticate(sql: Sql, tokens: Tokens) {
  // By the whole header. Verifying costs about 16 µs, a look-up less than one; 10,000 are about 8 MB.
  const sessions = new LRUCache<string, Session>({ max: 10_000 })
  const validity = openValidity(sql)

  async function verified(header: string): Promise<Session> {
    if (!header) throw noToken()
    const token = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(header)?.[1]
    const claims = token ? await tokens.verify(token) : null
    if (!claims) throw badToken()
    const caller = { userId: claims.userId }
    const session = { ...claims, caller, seenAt: -Infinity, believedUntil: -Infinity }
    sessions.set(header, session)
    return session
  }

  async function looked(header: string, known?: Session): Promise<Caller> {
    const session = known ?? (await verified(header))
    await validity.require(session)
    return session.caller
  }

  return {
    ...validity,

    /** Verifies the bearer token of a request; whether it still holds, or has expired, is not asked. @throws Refusal 401 */
    async session(request: Request): Promise<Session> {
      const header = headerOf(request)
      return sessions.get(header) ?? verified(header)
    },

    /** Who sends the request: at once where their token was seen to hold just now, as most were. @throws Refusal 401 */
    caller(request: Request): Caller | Promise<Caller> {
      const header = headerOf(request)
      const known = sessions.get(header)
      return known && validity.isBelieved(known) ? known.caller : looked(header, known)
    },
  }
}

const headerOf = ({ headers }: Request): string => headers.get('authorization') ?? ''
