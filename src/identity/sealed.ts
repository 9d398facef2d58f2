import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const nonceBytes = 12
const tagBytes = 16

/** A key for one purpose from each secret. The first writes, all read, so that a secret can be changed. */
export function keysFor(secrets: string[], purpose: string): [Buffer, ...Buffer[]] {
  const keyOf = (secret: string) => Buffer.from(hkdfSync('sha256', secret, '', `docket ${purpose}`, 32))
  return secrets.map(keyOf) as [Buffer, ...Buffer[]]
}

export type Sealing = ReturnType<typeof openSealing>

/** Encrypts texts with the service's secret (AES-256-GCM). */
export function openSealing(secrets: string[]) {
  const keys = keysFor(secrets, 'sealed text')
  const [first] = keys

  function seal(text: string): string {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', first, nonce)
    const box = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
    return Buffer.concat(box).toString('base64url')
  }

  /** Null for a text that was encrypted with another secret. */
  const open = (sealed: string): string | null =>
    keys.reduce<string | null>((text, key) => text ?? opened(key, sealed), null)

  /** The same text encrypted with the first secret, if another one of these encrypted it. */
  function renewed(sealed: string): string {
    const text = opened(first, sealed) === null ? open(sealed) : null
    return text === null ? sealed : seal(text)
  }

  return { seal, open, renewed }
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
