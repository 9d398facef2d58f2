import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import type { Passwords } from './passwords.ts'

const nonceBytes = 12
const tagBytes = 16

/** The first key encrypts or signs; all keys decrypt or verify, so that a secret can be rotated. */
function deriveKeys(secrets: string[], purpose: string): [Buffer, ...Buffer[]] {
  const keyOf = (secret: string) => Buffer.from(hkdfSync('sha256', secret, '', `docket ${purpose}`, 32))
  return secrets.map(keyOf) as [Buffer, ...Buffer[]]
}

export type Encryption = ReturnType<typeof openEncryption>

export function openEncryption(secrets: string[]) {
  const keys = deriveKeys(secrets, 'sealed text')
  const [first] = keys

  function encrypt(text: string): string {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', first, nonce)
    const box = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
    return Buffer.concat(box).toString('base64url')
  }

  const decrypt = (sealed: string): string | null =>
    keys.reduce<string | null>((text, key) => text ?? decryptWith(key, sealed), null)

  function reencrypt(sealed: string): string {
    const text = decryptWith(first, sealed) === null ? decrypt(sealed) : null
    return text === null ? sealed : encrypt(text)
  }

  return { encrypt, decrypt, reencrypt }
}

function decryptWith(key: Buffer, sealed: string): string | null {
  const box = Buffer.from(sealed, 'base64url')
  const cipher = createDecipheriv('aes-256-gcm', key, box.subarray(0, nonceBytes))
  cipher.setAuthTag(box.subarray(-tagBytes))
  try {
    return cipher.update(box.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + cipher.final('utf8')
  } catch {
    return null
  }
}

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
    async isSame(digest: string, stored: string, address: string, guess: Guess): Promise<boolean> {
      if (stored.startsWith('$argon2')) return guess(() => passwords.matches(digest, stored, address))
      return keys.some((key) => keyed(digest, key) === stored)
    },
  }
}

const holdsPassword = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && ('password' in body || 'currentPassword' in body)

const idBytes = 16
const macBytes = 16

/** A token in a mail is the id of a row in mail_tokens and 128 bits of the id's HMAC-SHA-256, as 43 characters. */
export function openMailTokens(secrets: string[]) {
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
