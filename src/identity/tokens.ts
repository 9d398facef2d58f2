import { jwt } from '@elysiajs/jwt'
import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
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

// `dkt_`, then 32 random bytes as 43 base-62 digits, then the CRC-32 of these ASCII digits as 6 base-62 digits, both
// big-endian. Secret scanners recognize this form, and a mistyped token is rejected without a query.
const pattern = /^dkt_[0-9A-Za-z]{49}$/
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const sumDigits = 6

function base62(value: bigint, width: number): string {
  let text = ''
  for (let left = value; text.length < width; left /= 62n) text = digits[Number(left % 62n)] + text
  return text
}

const sumOf = (secret: string): string => base62(BigInt(crc32(secret)), sumDigits)

export function newApiToken(): string {
  const secret = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43)
  return `dkt_${secret}${sumOf(secret)}`
}

export const isApiToken = (token: string): boolean =>
  pattern.test(token) && token.slice(-sumDigits) === sumOf(token.slice(4, -sumDigits))

/** The stored form of a token. A fast digest is safe, because the token is random. */
export const digestOfToken = (token: string): string => createHash('sha256').update(token).digest('hex')
