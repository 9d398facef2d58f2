import { jwt } from '@elysiajs/jwt'
import { isId } from '../id-format.ts'

const issuer = 'docket'
const audience = 'docket-api'
// The library compares the expiry of a token with this date, so it never rejects a token as expired. The service
// compares the expiry with the clock of the database.
const currentDate = new Date(0)
const checks = { algorithms: ['HS256'], issuer, audience, currentDate }

export interface Claims {
  userId: string
  tokenId: string
  /** The account's token version. Tokens of earlier versions are revoked. */
  version: number
  expiresAt: number
  /** The time of the sign-in. Missing in tokens of earlier releases. */
  issuedAt?: number
}

export type Tokens = ReturnType<typeof openTokens>

/** The first secret signs and all secrets verify, so that a secret can be rotated without signing users out. */
export function openTokens(secrets: string[], lifeSeconds: number, now: () => Promise<number>) {
  const signers = secrets.map(
    (secret) => jwt({ name: 'jwt', secret, iss: issuer, aud: audience }).decorator.jwt,
  )

  return {
    issue: async (userId: string, version: number): Promise<Claims> => {
      const issuedAt = Math.floor(await now())
      return { userId, tokenId: crypto.randomUUID(), version, expiresAt: issuedAt + lifeSeconds, issuedAt }
    },

    /** Stores the sign-in time in `auth_time`, a claim of OpenID Connect. The package cannot set `iat` to this time. */
    sign({ userId, tokenId, version, expiresAt, issuedAt }: Claims): Promise<string> {
      const authTime = issuedAt === undefined ? {} : { auth_time: issuedAt }
      const claims = { sub: userId, jti: tokenId, ver: version, exp: expiresAt, ...authTime }
      return signers[0]!.sign({ ...claims, iat: false })
    },

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
