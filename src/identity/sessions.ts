import { LRUCache } from 'lru-cache'
import type { Sql } from '../postgres/database.ts'
import type { Counts } from '../metrics/counts.ts'
import { invalidToken, missingToken } from '../responses/errors.ts'
import { type Caller, signInNeeded } from './rights.ts'
import { openTokenSessions, type TokenSession } from './token-sessions.ts'
import type { Tokens } from './tokens.ts'
import { believe, notYetSeen, openReadValidity, type Seen, type Session } from './validity.ts'

type AnySession = Session | TokenSession

/** Finds the callers of requests: verifies bearer tokens, that their users exist and that nobody revoked them. */
export class Authenticate {
  /** By token. To verify one costs about 16 µs, to find it less than one; 10,000 are about 8 MB. */
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

  /** The caller of a request: at once if its token was seen to hold just now, as most were. @throws HttpError 401 */
  caller(request: Request): Caller | Promise<Caller> {
    const token = tokenOf(request)
    const session = this.sessions.get(token)
    if (session && this.isBelieved(session)) {
      this.counts.hits++
      return session.caller
    }
    this.counts.misses++
    return this.readCaller(token, session)
  }

  /**
   * The sign-in token of a request, verified; it may be revoked or expired.
   * @throws HttpError 401, or 403 for an API token
   */
  async session(request: Request): Promise<Session> {
    const token = tokenOf(request)
    const session = this.sessions.get(token) ?? (await this.verify(token))
    if (!isOfToken(session)) return session
    await this.require(session)
    throw signInNeeded()
  }

  /** True if the token was seen to hold just now, and its account has not changed since. */
  readonly isBelieved = ({ seenAt, believedUntil, caller }: Seen): boolean =>
    performance.now() < believedUntil && seenAt > (this.changedAt.get(caller.userId) ?? 0)

  /** @throws HttpError 401 for a token that has expired or was revoked, or whose account is deleted */
  async require(session: AnySession): Promise<void> {
    if (this.isBelieved(session)) return
    const now = performance.now()
    const { leftMs, isHeld } = await (isOfToken(session)
      ? this.apiTokens.read(session)
      : this.readValidity(session))
    if (!isHeld || !(leftMs > 0)) throw invalidToken()
    believe(session, now, leftMs)
  }

  /** False for a revoked token. @throws HttpError 401 for one that has expired */
  async holdsInTime(session: Session): Promise<boolean> {
    const { leftMs, isHeld } = await this.readValidity(session)
    if (!(leftMs > 0)) throw invalidToken()
    return isHeld === true
  }

  /** The account or its tokens have changed: what was read of them before is believed no longer. */
  changed(userId: string): void {
    this.changedAt.set(userId, performance.now())
  }

  private async readCaller(token: string, known?: AnySession): Promise<Caller> {
    const session = known ?? (await this.verify(token))
    await this.require(session)
    if (!known) this.sessions.set(token, session) // invented API tokens take no place
    return session.caller
  }

  private async verify(token: string): Promise<AnySession> {
    if (token.startsWith('dkt_')) return this.apiTokens.begin(token)
    const claims = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? await this.tokens.verify(token) : null
    if (!claims) throw invalidToken()
    const session = { ...claims, caller: { userId: claims.userId }, ...notYetSeen }
    this.sessions.set(token, session)
    return session
  }
}

const isOfToken = (session: AnySession): session is TokenSession => 'digest' in session

/** The bearer token of a request; empty for another scheme. @throws HttpError 401 without a header */
function tokenOf({ headers }: Request): string {
  const header = headers.get('authorization')
  if (!header) throw missingToken()
  if (header.startsWith('Bearer ') && header[7] !== ' ') return header.slice(7)
  return /^bearer +(\S+)$/i.exec(header)?.[1] ?? ''
}
