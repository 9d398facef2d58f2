import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

const scheme = 'docket'
const maxSecrets = 8
const nonceFormat = /^[\w-]{43}$/

export type Welcome = { proof: string; clock: number }

export function deriveKeys(secrets: string[]): Buffer[] {
  if (secrets.length === 0 || secrets.includes('')) throw new Error('A secret is missing')
  return secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, '', 'docket channel', 32)))
}

export const newNonce = () => randomBytes(32).toString('base64url')

export const authorizationOf = (keys: Buffer[], serverId: string, nonce: string) =>
  [scheme, nonce, ...keys.map((key) => prove(key, 'client', serverId, nonce))].join(' ')

/** Returns the nonce, and the key that both sides know. @throws Error when no proof is right */
export function authenticate(keys: Buffer[], serverId: string, authorization = ''): [string, Buffer] {
  const [name, nonce = '', ...proofs] = authorization.split(' ')
  if (name !== scheme || !nonceFormat.test(nonce)) throw new Error('no proof of this protocol')
  const shown = proofs.slice(0, maxSecrets)
  const isKnown = (key: Buffer) => {
    const right = prove(key, 'client', serverId, nonce)
    return shown.some((proof) => isEqual(proof, right))
  }
  const key = keys.find(isKnown)
  if (!key) throw new Error('knows no secret of this process, or means another process')
  return [nonce, key]
}

export const welcomeOf = (key: Buffer, serverId: string, nonce: string, clock: number): Welcome => ({
  proof: prove(key, 'server', serverId, nonce, clock),
  clock,
})

/** @throws Error when the server is not the one that the client meant */
export function verifyWelcome(keys: Buffer[], serverId: string, nonce: string, welcome: Welcome): void {
  const { proof, clock } = welcome
  const isRight = (key: Buffer) => isEqual(String(proof), prove(key, 'server', serverId, nonce, clock))
  if (!keys.some(isRight)) throw new Error('is not the process that was expected')
}

/** The role keeps a proof from being sent back to its author. */
const prove = (key: Buffer, role: 'client' | 'server', serverId: string, nonce: string, clock?: number) =>
  createHmac('sha256', key)
    .update(JSON.stringify([role, serverId, nonce, clock]))
    .digest('base64url')

function isEqual(shown: string, right: string): boolean {
  const [a, b] = [Buffer.from(shown), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}
