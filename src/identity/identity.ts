import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Config } from '../config.ts'
import type { Counts } from '../metrics/counts.ts'
import { databaseTime } from '../postgres/clock.ts'
import type { Database } from '../postgres/database.ts'
import { secretsIn } from '../setting-values.ts'
import { openEncryption, deriveKeys } from './encryption.ts'
import { openFingerprints } from './fingerprints.ts'
import { openNewPasswords, openPasswords } from './passwords.ts'
import { Authenticate } from './sessions.ts'
import { openRecordUse } from './token-sessions.ts'
import { openTokens } from './tokens.ts'

export function openIdentity(config: Config, { background, reads }: Database, counts: Counts) {
  const secrets = secretsIn(config.jwtSecret)
  const tokens = openTokens(secrets, config.jwtExpirationSeconds, () => databaseTime(background))
  const authenticate = new Authenticate(reads, tokens, openRecordUse(background), counts)
  const keys = { tokens, mailTokens: openMailTokens(secrets), encryption: openEncryption(secrets) }
  const passwords = openPasswords()
  const fingerprints = openFingerprints(secrets, passwords)
  return { authenticate, ...keys, passwords, newPasswords: openNewPasswords(config), fingerprints }
}

const idBytes = 16
const macBytes = 16

/** A token in a mail is the id of a row in mail_tokens and 128 bits of the id's HMAC-SHA-256, as 43 characters. */
function openMailTokens(secrets: string[]) {
  const keys = deriveKeys(secrets, 'mail token')
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
