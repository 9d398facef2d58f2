import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const nonceBytes = 12
const tagBytes = 16

export type Sealing = ReturnType<typeof openSealing>

/**
 * Keeps a text so that it can be read with the service's secret alone (AES-256-GCM). The first secret seals, all open,
 * so that a secret can be changed.
 */
export function openSealing(secrets: string[]) {
  const keys = secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, '', 'docket sealed text', 32)))
  const [first] = keys

  function seal(text: string): string {
    if (!first) throw new Error('There is no secret to seal with')
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', first, nonce)
    const parts = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
    return Buffer.concat(parts).toString('base64url')
  }

  /** Null for what was sealed with another secret. */
  function open(sealed: string): string | null {
    for (const key of keys) {
      const text = opened(key, sealed)
      if (text !== null) return text
    }
    return null
  }

  return {
    seal,
    open,
    /** The same text sealed with the first secret, where it was with another one of these. */
    renewed(sealed: string): string {
      const text = first && opened(first, sealed) === null ? open(sealed) : null
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
