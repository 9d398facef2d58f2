import { createHmac, timingSafeEqual } from 'node:crypto'
import { keysFor } from './keys.ts'

const idBytes = 16
const macBytes = 16

export type MailTokens = ReturnType<typeof openMailTokens>

/**
 * Makes and reads the tokens that mails carry: an id and 128 bits of its HMAC-SHA-256, in base64url 43 characters. What
 * an id is good for is a row in mail_tokens; no column has the token.
 */
export function openMailTokens(secrets: string[]) {
  const keys = keysFor(secrets, 'mail token')
  const macOf = (key: Buffer, id: Buffer) =>
    createHmac('sha256', key).update(id).digest().subarray(0, macBytes)

  return {
    /** The token for this id: the same one each time, so that a mail that is sent again carries it again. */
    tokenOf(id: string): string {
      const bytes = Buffer.from(id.replaceAll('-', ''), 'hex')
      return Buffer.concat([bytes, macOf(keys[0], bytes)]).toString('base64url')
    },

    /** The id in a token; null when no secret of this service made it, which costs no query. */
    idIn(token: string): string | null {
      if (!/^[\w-]{43}$/.test(token)) return null
      const bytes = Buffer.from(token, 'base64url')
      const [id, mac] = [bytes.subarray(0, idBytes), bytes.subarray(idBytes)]
      if (!keys.some((key) => timingSafeEqual(macOf(key, id), mac))) return null
      return id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    },
  }
}
