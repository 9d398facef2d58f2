import { createHmac } from 'node:crypto'
import type { Source } from './fair-queue.ts'
import { keysFor } from './sealed.ts'
import type { Passwords } from './passwords.ts'

export type Fingerprints = ReturnType<typeof openFingerprints>

/**
 * Stored of a request to compare its repeat with: argon2id of a body with a password, as expensive to guess as the password's
 * own hash; HMAC-SHA-256 of any other body.
 */
export function openFingerprints(secrets: string[], passwords: Passwords) {
  const keys = keysFor(secrets, 'fingerprint')
  const keyed = (digest: string, key: Buffer) =>
    `hmac-sha256:${createHmac('sha256', key).update(digest).digest('base64url')}`

  return {
    async of(digest: string, body: unknown, by: Source): Promise<string> {
      if (holdsPassword(body)) return passwords.hash(digest, by)
      return keyed(digest, keys[0])
    },

    /** Earlier releases stored argon2id for every body. `guess` limits how often a digest is compared with one. */
    async isSame(digest: string, stored: string, { guess, ...by }: Guesser): Promise<boolean> {
      if (stored.startsWith('$argon2')) return guess(() => passwords.matches(digest, stored, by))
      return keys.some((key) => keyed(digest, key) === stored)
    },
  }
}

interface Guesser extends Source {
  guess(isRight: () => Promise<boolean>): Promise<boolean>
}

const passwordFields = ['password', 'currentPassword']

const holdsPassword = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && passwordFields.some((field) => field in body)
