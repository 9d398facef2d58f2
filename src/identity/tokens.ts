import { jwt } from '@elysiajs/jwt'
import { isId } from '../ids.ts'

const issuer = 'docket'
const audience = 'docket-api'
// Before every time that a token names: the database, whose clock all processes share, decides whether a token has expired.
const currentDate = new Date(0)
const checks = { algorithms: ['HS256'], issuer, audience, currentDate }

/** The content of a token: the same claims make the very same token again. */
export interface Claims {
  userId: string
  tokenId: string
  /** The account's token version; an earlier one is revoked. */
  version: number
  /** Seconds since 1970. */
  expiresAt: number
  /** The time of the sign-in; tokens of earlier releases lack it. */
  issuedAt?: number
}

export type Tokens = ReturnType<typeof openTokens>

/**
 * Signs and verifies access tokens: JWT with HS256, issuer and audience pinned. The first secret signs, all verify,
 * so that a secret can be changed without signing everybody out. `now` returns the seconds since 1970.
 */
export function openTokens(secrets: string[], lifeSeconds: number, now: () => Promise<number>) {
  const signers = secrets.map(
    (secret) => jwt({ name: 'jwt', secret, iss: issuer, aud: audience }).decorator.jwt,
  )

  return {
    issue: async (userId: string, version: number): Promise<Claims> => {
      const issuedAt = Math.floor(await now())
      return { userId, tokenId: crypto.randomUUID(), version, expiresAt: issuedAt + lifeSeconds, issuedAt }
    },

    /** `auth_time` is OpenID Connect's; the package would put the present time into `iat`. */
    sign({ userId, tokenId, version, expiresAt, issuedAt }: Claims): Promise<string> {
      const authTime = issuedAt === undefined ? {} : { auth_time: issuedAt }
      return signers[0]!.sign({
        sub: userId,
        jti: tokenId,
        ver: version,
        exp: expiresAt,
        iat: false,
        ...authTime,
      })
    },

    /** Null for a malformed or forged token. */
    async verify(token: string): Promise<Claims | null> {
      for (const signer of signers) {
        const claims = claimsIn(await signer.verify(token, checks))
        if (claims) return claims
      }
      return null
    },
  }
}

type Payload = false | { sub?: unknown; jti?: unknown; ver?: unknown; exp?: unknown; auth_time?: unknown }

function claimsIn(payload: Payload): Claims | null {
  if (!payload) return null
  const { sub: userId, jti: tokenId, ver: version, exp: expiresAt, auth_time: issuedAt } = payload
  if (typeof userId !== 'string' || !isId(userId) || typeof tokenId !== 'string' || !isId(tokenId))
    return null
  if (typeof version !== 'number' || typeof expiresAt !== 'number') return null
  return { userId, tokenId, version, expiresAt, ...(typeof issuedAt === 'number' && { issuedAt }) }
}
