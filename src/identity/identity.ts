import type { Config } from '../config.ts'
import type { Counts } from '../metrics/counts.ts'
import { databaseTime } from '../postgres/clock.ts'
import type { Database } from '../postgres/database.ts'
import { secretsIn } from '../setting-values.ts'
import { openFingerprints } from './fingerprints.ts'
import { openMailTokens } from './mail-tokens.ts'
import { openNewPasswords, openPasswords } from './passwords.ts'
import { openEncryption } from './encryption.ts'
import { Authenticate } from './sessions.ts'
import { openTokens } from './tokens.ts'
import { openRecordUse } from './token-sessions.ts'

export function openIdentity(config: Config, { background, reads }: Database, counts: Counts) {
  const secrets = secretsIn(config.jwtSecret)
  const tokens = openTokens(secrets, config.jwtExpirationSeconds, () => databaseTime(background))
  const authenticate = new Authenticate(reads, tokens, openRecordUse(background), counts)
  const keys = { tokens, mailTokens: openMailTokens(secrets), encryption: openEncryption(secrets) }
  const passwords = openPasswords()
  const fingerprints = openFingerprints(secrets, passwords)
  return { authenticate, ...keys, passwords, newPasswords: openNewPasswords(config), fingerprints }
}
