import { createHmac, timingSafeEqual } from 'node:crypto'
import { keysFor } from './sealed.ts'

const idBytes = 16
const macBytes = 16

/** The tokens of mails: the id of a row in mail_tokens and 128 bits of its HMAC-SHA-256, 43 characters. */
export function openMailTokens(secrets: string[]) {
  const keys = keysFor(secrets, 'mail token')
  const macOf = (key: Buffer, id: Buffer) =>
    createHmac('sha256', key).update(id).digest().subarray(0, macBytes)

  return {
    /** The same each time, so that a mail that is sent again carries the same token. */
    tokenOf(id: string): string {
      const bytes = Buffer.from(id.replaceAll('-', ''), 'hex')
      return Buffer.concat([bytes, macOf(keys[0], bytes)]).toString('base64url')
    },

    /** The id in a token; null when no secret of this service made it. */
    idIn(token: string): string | null {
      if (!/^[\w-]{43}$/.test(token)) return null
      const bytes = Buffer.from(token, 'base64url')
      const [id, mac] = [bytes.subarray(0, idBytes), bytes.subarray(idBytes)]
      if (!keys.some((key) => timingSafeEqual(macOf(key, id), mac))) return null
      return id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    },
  }
}
