import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

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
