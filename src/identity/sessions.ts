import { LRUCache } from 'lru-cache'
import type { Counts } from '../metrics/counts.ts'
import type { Database, Sql } from '../postgres/database.ts'
import { grouped, byOrdinal } from '../postgres/grouped.ts'
import { invalidToken, missingToken } from '../responses/errors.ts'
import { type Caller, highestScope, type Scope, signInNeeded } from './rights.ts'
import { type Claims, digestOfToken, isApiToken, type Tokens } from './tokens.ts'

/**
 * Processes check a token in the database again in each period of this length. Until then, they may accept a revoked
 * token. All checks end with the period, so that the next checks of many tokens share a query.
 */
const validityMs = 500

/** A token's last check. Times are on the clock of performance.now(). */
interface CheckedSession {
  caller: Caller
  checkedAt: number
  validUntil: number
}

export interface Session extends Claims, CheckedSession {}

/** A well-formed API token. Its caller is unknown until the token is read. */
interface TokenSession extends CheckedSession {
  digest: string
}

type AnySession = Session | TokenSession

const unchecked = { checkedAt: -Infinity, validUntil: -Infinity }
const unknownCaller: Caller = { userId: '' }

/** Verifies the bearer tokens of requests, and checks that the account exists and the token is not revoked. */
export class Authenticate {
  /** Sessions by token, about 8 MB. Verifying a token takes about 16 µs, a look-up here less than 1 µs. */
  private readonly sessions = new LRUCache<string, AnySession>({ max: 10_000 })
  private readonly changedAt = new LRUCache<string, number>({ max: 10_000 })
  private readonly readClaims
  private readonly readToken
  private readonly counts

  constructor(
    { reads, background }: Database,
    private readonly tokens: Tokens,
    { caches }: Counts,
  ) {
    this.readClaims = openReadClaims(reads)
    this.readToken = openReadToken(reads, background)
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
    if (!('digest' in session)) return session
    await this.require(session)
    throw signInNeeded()
  }

  /** True if the token was checked within `validityMs`, and its account has not changed since. */
  readonly isFresh = ({ checkedAt, validUntil, caller }: CheckedSession): boolean =>
    performance.now() < validUntil && !this.hasChangedSince(caller.userId, checkedAt)

  /** True if this process has changed the account or its tokens since then. */
  readonly hasChangedSince = (userId: string, at: number): boolean =>
    (this.changedAt.get(userId) ?? -Infinity) >= at

  /** False if the token is revoked or its account is deleted. @throws HttpError 401 if the token is expired */
  async isValid(session: AnySession): Promise<boolean> {
    if (this.isFresh(session)) return true
    const now = performance.now()
    const found = await ('digest' in session ? this.readToken(session) : this.readClaims(session))
    if (!found || !(found.leftMs > 0)) throw invalidToken()
    if (!found.isValid) return false
    session.checkedAt = now
    session.validUntil = Math.min((Math.floor(now / validityMs) + 1) * validityMs, now + found.leftMs)
    return true
  }

  /** @throws HttpError 401 */
  async require(session: AnySession): Promise<void> {
    if (!(await this.isValid(session))) throw invalidToken()
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
    if (token.startsWith('dkt_')) return tokenSession(token)
    const claims = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? await this.tokens.verify(token) : null
    if (!claims) throw invalidToken()
    const session = { ...claims, caller: { userId: claims.userId }, ...unchecked }
    this.sessions.set(token, session)
    return session
  }
}

function tokenOf({ headers }: Request): string {
  const header = headers.get('authorization')
  if (!header) throw missingToken()
  if (header.startsWith('Bearer ') && header[7] !== ' ') return header.slice(7)
  return /^bearer +(\S+)$/i.exec(header)?.[1] ?? ''
}

/** @throws HttpError 401 for a malformed token, without a query */
export function tokenSession(token: string): TokenSession {
  if (!isApiToken(token)) throw invalidToken()
  return { digest: digestOfToken(token), caller: unknownCaller, ...unchecked }
}

interface Validity {
  n: number
  /** The time until the token expires. */
  leftMs: number
  isValid: boolean | null
}

const openReadClaims = (sql: Sql) =>
  grouped({ keys: 500, slots: 2 }, async (keys: Claims[]) => {
    const rows = await sql<Validity[]>`
      select q.n::int4 as n, (q.expires_at - extract(epoch from now())::float8) * 1000 as left_ms,
        u.token_version = q.version and not exists (select from revoked_tokens r where r.jti = q.token_id) as is_valid
      from unnest(${keys.map((k) => k.userId)}::uuid[], ${keys.map((k) => k.tokenId)}::uuid[],
          ${keys.map((k) => String(k.version))}::text[]::float8[], ${keys.map((k) => String(k.expiresAt))}::text[]::float8[])
        with ordinality q(user_id, token_id, version, expires_at, n)
      left join users u on u.id = q.user_id`
    return byOrdinal(keys.length, rows)
  })

interface TokenRow extends Validity {
  id: string
  userId: string
  scopes: string
  projects: string | null
  /** The project of the service account; null for a user. */
  serviceProjectId: string | null
  isUseUnrecorded: boolean
}

/** Returns nothing for an invalid token. Also writes the time of the last use of a token, precise to a minute. */
const openReadToken = (sql: Sql, background: Sql) =>
  grouped({ keys: 500, slots: 2 }, async (sessions: TokenSession[]) => {
    const rows = await sql<TokenRow[]>`
      select q.n::int4 as n, t.id, t.user_id, t.scopes, t.projects, u.project_id as service_project_id, true as is_valid,
        extract(epoch from t.expires_at - now())::float8 * 1000 as left_ms,
        t.last_used_at is null or t.last_used_at < now() - interval '1 minute' as is_use_unrecorded
      from unnest(${sessions.map(({ digest }) => digest)}::text[]) with ordinality q(digest, n)
      join api_tokens t on t.digest = q.digest and t.expires_at > now()
      join users u on u.id = t.user_id and u.token_version = t.version
      where u.project_id is null or exists (select from projects p
        join members m on m.project_id = p.id and m.user_id = u.id where p.id = u.project_id)`
    for (const row of rows) {
      const session = sessions[row.n - 1]!
      if (session.caller === unknownCaller) session.caller = callerOf(row)
    }
    const used = rows.flatMap(({ id, isUseUnrecorded }) => (isUseUnrecorded ? id : []))
    // Not awaited: no request needs the result.
    if (used.length > 0)
      background`update api_tokens set last_used_at = now() where id = any(${used}::uuid[])
        and (last_used_at is null or last_used_at < now() - interval '1 minute')`.catch(() => {})
    return byOrdinal(sessions.length, rows)
  })

function callerOf({ id, userId, scopes, projects, serviceProjectId }: TokenRow): Caller {
  const scope = highestScope(scopes.split(' ') as Scope[])
  const some = projects?.split(' ') ?? null
  if (!serviceProjectId) return { userId, token: { id, scope, projects: some } }
  const own = some?.includes(serviceProjectId) === false ? [] : [serviceProjectId]
  return { userId, token: { id, scope, projects: own, isService: true } }
}
