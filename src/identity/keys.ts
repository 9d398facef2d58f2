import { hkdfSync } from 'node:crypto'

/** A key for one purpose from each secret. The first makes what is new, all read, so that a secret can be changed. */
export function keysFor(secrets: string[], purpose: string): [Buffer, ...Buffer[]] {
  const [first, ...others] = secrets.map((secret) =>
    Buffer.from(hkdfSync('sha256', secret, '', `docket ${purpose}`, 32)),
  )
  if (!first) throw new Error('There is no secret')
  return [first, ...others]
}
