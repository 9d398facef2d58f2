import { jwt } from '@elysiajs/jwt'
import { isId } from '../ids.ts'

const issuer = 'docket'
const audience = 'docket-api'
// Before every time that a token names: whether it is in time says the database, whose clock all processes share.
const currentDate = new Date(0)
const checks = { algorithms: ['HS256'], issuer, audience, currentDate }

/** What a token says: nothing else is needed to make the very same token again. */
export interface Claims {
  userId: string
  tokenId: string
  /** The account's token version when it was made; one behind is revoked. */
  version: number
  /** Seconds since 1970. */
  expiresAt: number
  /** When its owner signed in, likewise; unknown of a token from before this was said. */
  issuedAt?: number
}

export type Tokens = ReturnType<typeof openTokens>

/**
 * Signs and verifies access tokens: JWT with HS256, issuer and audience pinned. The first secret signs, all verify,
 * so that a secret can be changed without signing everybody out. `now` gives the seconds since 1970.
 */
export function openTokens(secrets: string[], lifeSeconds: number, now: () => Promise<number>) {
  const signers = secrets.map(
    (secret) => jwt({ name: 'jwt', secret, iss: issuer, aud: audience }).decorator.jwt,
  )

  return {
    /** The claims of a new token. */
    issue: async (userId: string, version: number): Promise<Claims> => {
      const issuedAt = Math.floor(await now())
      return { userId, tokenId: crypto.randomUUID(), version, expiresAt: issuedAt + lifeSeconds, issuedAt }
    },

    /**
     * The token for these claims: always the same one, for HS256 has no chance in it and the claims name no other time.
     * `auth_time` is OpenID Connect's; the package puts its own time into `iat`.
     */
    sign({ userId, tokenId, version, expiresAt, issuedAt }: Claims): Promise<string> {
      const [signer] = signers
      if (!signer) throw new Error('There is no secret to sign tokens with')
      const authTime = issuedAt === undefined ? {} : { auth_time: issuedAt }
      return signer.sign({ sub: userId, jti: tokenId, ver: version, exp: expiresAt, iat: false, ...authTime })
    },

    /** The token's claims; null when it is malformed or forged. */
    async verify(token: string): Promise<Claims | null> {
      for (const signer of signers) {
        const claims = claimsIn(await signer.verify(token, checks))
        if (claims) return claims
      }
      return null
    },
  }
}

/** The claims of a payload that we could have signed; null for any other. */
function claimsIn(
  payload: false | { sub?: unknown; jti?: unknown; ver?: unknown; exp?: unknown; auth_time?: unknown },
): Claims | null {
  if (!payload) return null
  const { sub: userId, jti: tokenId, ver: version, exp: expiresAt, auth_time: issuedAt } = payload
  if (typeof userId !== 'string' || !isId(userId) || typeof tokenId !== 'string' || !isId(tokenId))
    return null
  if (typeof version !== 'number' || typeof expiresAt !== 'number') return null
  return { userId, tokenId, version, expiresAt, ...(typeof issuedAt === 'number' && { issuedAt }) }
}
