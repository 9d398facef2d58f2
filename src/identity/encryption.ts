import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const nonceBytes = 12
const tagBytes = 16

/** The first key encrypts or signs; all keys decrypt or verify, so that a secret can be rotated. */
export function deriveKeys(secrets: string[], purpose: string): [Buffer, ...Buffer[]] {
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
