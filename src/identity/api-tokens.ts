import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

// `dkt_`, then 32 random bytes as 43 digits to the base 62, then the CRC-32 of those digits (of their ASCII, not of the
// bytes) as 6 digits: 53 characters. Both numbers are big-endian with leading zeros; digits are 0-9, A-Z, a-z, in this
// order. So scanners know a token that leaked, and a mistyped one is refused without asking anything.
const form = /^dkt_[0-9A-Za-z]{49}$/
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretBytes = 32
const secretDigits = 43
const sumDigits = 6

function base62(value: bigint, width: number): string {
  let text = ''
  for (let left = value; text.length < width; left /= 62n) text = digits[Number(left % 62n)] + text
  return text
}

const sumOf = (secret: string): string => base62(BigInt(crc32(secret)), sumDigits)

/** A new token: who reads it holds it, so only its digest is kept. */
export function newApiToken(): string {
  const secret = base62(BigInt(`0x${randomBytes(secretBytes).toString('hex')}`), secretDigits)
  return `dkt_${secret}${sumOf(secret)}`
}

/** True for what may be an API token, and is no other kind of token. */
export const isLikeApiToken = (token: string): boolean => token.startsWith('dkt_')

/** True for what newApiToken can have made. */
export const isApiToken = (token: string): boolean =>
  form.test(token) && token.slice(-sumDigits) === sumOf(token.slice(4, -sumDigits))

/** What is kept of a token: with so much chance in it, a fast digest is as good as a slow one. */
export const digestOfToken = (token: string): string => createHash('sha256').update(token).digest('hex')
