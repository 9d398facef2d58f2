import { LRUCache } from 'lru-cache'
import type { Sql } from '../postgres/database.ts'
import type { Counts } from '../metrics/counts.ts'
import { badToken, noToken } from '../wire/refusals.ts'
import { isLikeApiToken } from './api-tokens.ts'
import { type Caller, signInNeeded } from './rights.ts'
import { openTokenSessions, type TokenSession } from './token-sessions.ts'
import type { Tokens } from './tokens.ts'
import { notYetSeen, openValidity, type Session } from './validity.ts'

export type Authenticate = ReturnType<typeof openAuthenticate>

/** Finds who sends a request: verifies the bearer token, that its user exists and that nobody revoked it. */
export function openAuthenticate(
  sql: Sql,
  tokens: Tokens,
  onTokenUse: (tokenId: string) => void,
  { caches: { sessions: counts }, readWaits }: Counts,
) {
  const validity = openValidity(sql, readWaits.sessions)
  const { known, verified, looked } = openSessions(tokens, validity, openTokenSessions(sql, onTokenUse))
  return {
    ...validity,

    /**
     * Verifies the sign-in token of a request; whether it still holds, or has expired, is not asked.
     * @throws Refusal 401, or 403 for an API token
     */
    async session(request: Request): Promise<Session> {
      const token = tokenOf(request)
      const session = known(token) ?? (await verified(token))
      if (!isOfToken(session)) return session
      await looked(token, session)
      throw signInNeeded()
    },

    /** Who sends the request: at once where their token was seen to hold just now, as most were. @throws Refusal 401 */
    caller(request: Request): Caller | Promise<Caller> {
      const token = tokenOf(request)
      const session = known(token)
      if (session && validity.isBelieved(session)) {
        counts.hits++
        return session.caller
      }
      counts.misses++
      return looked(token, session)
    },
  }
}

type AnySession = Session | TokenSession
type Looks = [validity: ReturnType<typeof openValidity>, apiTokens: ReturnType<typeof openTokenSessions>]

/** The sessions of this process. */
function openSessions(tokens: Tokens, ...[validity, apiTokens]: Looks) {
  // By the token: the spelling of its scheme is no part of it. Verifying costs about 16 µs, a look-up less than one; 10,000 are about 8 MB.
  const sessions = new LRUCache<string, AnySession>({ max: 10_000 })

  async function verified(token: string): Promise<AnySession> {
    if (isLikeApiToken(token)) return apiTokens.begin(token)
    const claims = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? await tokens.verify(token) : null
    if (!claims) throw badToken()
    const session = { ...claims, caller: { userId: claims.userId }, ...notYetSeen }
    sessions.set(token, session)
    return session
  }

  async function looked(token: string, known?: AnySession): Promise<Caller> {
    const session = known ?? (await verified(token))
    if (!isOfToken(session)) await validity.require(session)
    else {
      await apiTokens.require(session)
      if (!known) sessions.set(token, session) // not before: what anybody can make up takes nobody's place
    }
    return session.caller
  }

  return { known: (token: string) => sessions.get(token), verified, looked }
}

const isOfToken = (session: AnySession): session is TokenSession => 'digest' in session

/** The bearer token of a request; empty for another scheme. @throws Refusal 401 without a header */
function tokenOf({ headers }: Request): string {
  const header = headers.get('authorization')
  if (!header) throw noToken()
  if (header.startsWith('Bearer ') && header[7] !== ' ') return header.slice(7)
  return /^bearer +(\S+)$/i.exec(header)?.[1] ?? ''
}
