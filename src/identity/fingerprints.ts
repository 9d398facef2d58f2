import { createHmac } from 'node:crypto'
import { deriveKeys } from './encryption.ts'
import type { Passwords } from './passwords.ts'

type Guess = (isRight: () => Promise<boolean>) => Promise<boolean>
export type Fingerprints = ReturnType<typeof openFingerprints>

/** Uses argon2id for a body with a password, so that the fingerprint is as hard to guess as a password hash. */
export function openFingerprints(secrets: string[], passwords: Passwords) {
  const keys = deriveKeys(secrets, 'fingerprint')
  const keyed = (digest: string, key: Buffer) =>
    `hmac-sha256:${createHmac('sha256', key).update(digest).digest('base64url')}`

  return {
    async of(digest: string, body: unknown, address: string): Promise<string> {
      if (holdsPassword(body)) return passwords.hash(digest, address)
      return keyed(digest, keys[0])
    },

    /** Accepts the argon2id fingerprints of earlier releases for every body. `guess` limits how often argon2id runs. */
    async isSame(
      digest: string,
      stored: string,
      { address, guess }: { address: string; guess: Guess },
    ): Promise<boolean> {
      if (stored.startsWith('$argon2')) return guess(() => passwords.matches(digest, stored, address))
      return keys.some((key) => keyed(digest, key) === stored)
    },
  }
}

const holdsPassword = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && ('password' in body || 'currentPassword' in body)
