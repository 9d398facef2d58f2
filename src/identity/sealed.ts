import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { keysFor } from './keys.ts'

const nonceBytes = 12
const tagBytes = 16

export type Sealing = ReturnType<typeof openSealing>

/**
 * Keeps a text so that it can be read with the service's secret alone (AES-256-GCM).
 */
export function openSealing(secrets: string[]) {
  const keys = keysFor(secrets, 'sealed text')
  const [first] = keys

  function seal(text: string): string {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', first, nonce)
    const parts = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
    return Buffer.concat(parts).toString('base64url')
  }

  /** Null for what was sealed with another secret. */
  const open = (sealed: string): string | null =>
    keys.reduce<string | null>((text, key) => text ?? opened(key, sealed), null)

  return {
    seal,
    open,
    /** The same text sealed with the first secret, where it was with another one of these. */
    renewed(sealed: string): string {
      const text = opened(first, sealed) === null ? open(sealed) : null
      return text === null ? sealed : seal(text)
    },
  }
}

function opened(key: Buffer, sealed: string): string | null {
  const box = Buffer.from(sealed, 'base64url')
  const cipher = createDecipheriv('aes-256-gcm', key, box.subarray(0, nonceBytes))
  cipher.setAuthTag(box.subarray(-tagBytes))
  try {
    return cipher.update(box.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + cipher.final('utf8')
  } catch {
    return null
  }
}
