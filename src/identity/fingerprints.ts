import { createHmac } from 'node:crypto'
import type { Source } from './fair-queue.ts'
import { keysFor } from './keys.ts'
import type { Passwords } from './passwords.ts'

type Guess = (isRight: () => Promise<boolean>) => Promise<boolean>

const slow = '$argon2'

export type Fingerprints = ReturnType<typeof openFingerprints>

/**
 * What is stored of a request to compare its repeat with. Of a body with a password that is argon2id, as expensive to
 * guess as the password's own hash; of any other HMAC-SHA-256 with a key that the database does not have.
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

    /** Releases before stored argon2id for every body. `guess` limits how often a digest is compared with one. */
    async isSame(
      digest: string,
      stored: string,
      { guess, ...by }: Source & { guess: Guess },
    ): Promise<boolean> {
      if (stored.startsWith(slow)) return guess(() => passwords.matches(digest, stored, by))
      return keys.some((key) => keyed(digest, key) === stored)
    },
  }
}

/** The names by which bodies hold one. */
const passwordFields = ['password', 'currentPassword']

const holdsPassword = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && passwordFields.some((field) => field in body)
