import { createHmac, timingSafeEqual } from 'node:crypto'
import { keysFor } from './encryption.ts'

const idBytes = 16
const macBytes = 16

/** A token in a mail is the id of a row in mail_tokens and 128 bits of the id's HMAC-SHA-256, as 43 characters. */
export function openMailTokens(secrets: string[]) {
  const keys = keysFor(secrets, 'mail token')
  const macOf = (key: Buffer, id: Buffer) =>
    createHmac('sha256', key).update(id).digest().subarray(0, macBytes)

  return {
    /** Deterministic, so that a mail that is sent again contains the same token. */
    tokenOf(id: string): string {
      const bytes = Buffer.from(id.replaceAll('-', ''), 'hex')
      return Buffer.concat([bytes, macOf(keys[0], bytes)]).toString('base64url')
    },

    idIn(token: string): string | null {
      if (!/^[\w-]{43}$/.test(token)) return null
      const bytes = Buffer.from(token, 'base64url')
      const [id, mac] = [bytes.subarray(0, idBytes), bytes.subarray(idBytes)]
      if (!keys.some((key) => timingSafeEqual(macOf(key, id), mac))) return null
      return id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    },
  }
}
