import { LRUCache } from 'lru-cache'
import type { Sql } from '../postgres/database.ts'
import type { Counts } from '../metrics/counts.ts'
import { invalidToken, missingToken } from '../responses/errors.ts'
import { type Caller, signInNeeded } from './rights.ts'
import { openTokenSessions, type TokenSession } from './token-sessions.ts'
import type { Tokens } from './tokens.ts'
import { setValidity, unchecked, openReadValidity, type CheckedSession, type Session } from './validity.ts'

type AnySession = Session | TokenSession

/** Verifies the bearer tokens of requests, and checks that the account exists and the token is not revoked. */
export class Authenticate {
  /** Sessions by token, about 8 MB. Verifying a token takes about 16 µs, a look-up here less than 1 µs. */
  private readonly sessions = new LRUCache<string, AnySession>({ max: 10_000 })
  private readonly changedAt = new LRUCache<string, number>({ max: 10_000 })
  private readonly readValidity
  private readonly apiTokens
  private readonly counts

  constructor(
    sql: Sql,
    private readonly tokens: Tokens,
    onTokenUse: (tokenId: string) => void,
    { caches, readWaits }: Counts,
  ) {
    this.readValidity = openReadValidity(sql, readWaits.sessions)
    this.apiTokens = openTokenSessions(sql, onTokenUse)
    this.counts = caches.sessions
  }

  /** Returns the caller of a request; a promise only if the token must be checked again. @throws HttpError 401 */
  caller(request: Request): Caller | Promise<Caller> {
    const token = tokenOf(request)
    const session = this.sessions.get(token)
    if (session && this.isFresh(session)) {
      this.counts.hits++
      return session.caller
    }
    this.counts.misses++
    return this.readCaller(token, session)
  }

  /** Verifies the signature; the token may be revoked or expired. @throws HttpError 401; 403 for an API token */
  async session(request: Request): Promise<Session> {
    const token = tokenOf(request)
    const session = this.sessions.get(token) ?? (await this.verify(token))
    if (!isTokenSession(session)) return session
    await this.require(session)
    throw signInNeeded()
  }

  /** True if the token was checked within `validityMs`, and its account has not changed since. */
  readonly isFresh = ({ checkedAt, validUntil, caller }: CheckedSession): boolean =>
    performance.now() < validUntil && checkedAt > (this.changedAt.get(caller.userId) ?? 0)

  /** @throws HttpError 401 if the token is expired or revoked, or its account is deleted */
  async require(session: AnySession): Promise<void> {
    if (this.isFresh(session)) return
    const now = performance.now()
    const { leftMs, isValid } = await (isTokenSession(session)
      ? this.apiTokens.read(session)
      : this.readValidity(session))
    if (!isValid || !(leftMs > 0)) throw invalidToken()
    setValidity(session, now, leftMs)
  }

  /** False for a revoked token. @throws HttpError 401 for an expired token */
  async isUnrevoked(session: Session): Promise<boolean> {
    const { leftMs, isValid } = await this.readValidity(session)
    if (!(leftMs > 0)) throw invalidToken()
    return isValid === true
  }

  /** Call this after a change of the account or its tokens. */
  invalidate(userId: string): void {
    this.changedAt.set(userId, performance.now())
  }

  private async readCaller(token: string, cached?: AnySession): Promise<Caller> {
    const session = cached ?? (await this.verify(token))
    await this.require(session)
    // Cached only after the check, so that invalid API tokens do not fill the cache.
    if (!cached) this.sessions.set(token, session)
    return session.caller
  }

  private async verify(token: string): Promise<AnySession> {
    if (token.startsWith('dkt_')) return this.apiTokens.open(token)
    const claims = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? await this.tokens.verify(token) : null
    if (!claims) throw invalidToken()
    const session = { ...claims, caller: { userId: claims.userId }, ...unchecked }
    this.sessions.set(token, session)
    return session
  }
}

const isTokenSession = (session: AnySession): session is TokenSession => 'digest' in session

function tokenOf({ headers }: Request): string {
  const header = headers.get('authorization')
  if (!header) throw missingToken()
  if (header.startsWith('Bearer ') && header[7] !== ' ') return header.slice(7)
  return /^bearer +(\S+)$/i.exec(header)?.[1] ?? ''
}
