import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

const scheme = 'docket'
const maxSecrets = 8
const nonceFormat = /^[\w-]{43}$/

export type Welcome = { proof: string; clock: number }

export function deriveKeys(secrets: string[]): Buffer[] {
  if (secrets.length === 0 || secrets.includes(''))
    throw new Error('JWT_SECRET must not be empty or contain an empty secret')
  return secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, '', 'docket channel', 32)))
}

export const newNonce = () => randomBytes(32).toString('base64url')

export const authorizationHeader = (keys: Buffer[], serverId: string, nonce: string) =>
  [scheme, nonce, ...keys.map((key) => proofOf(key, 'client', serverId, nonce))].join(' ')

export function authenticate(keys: Buffer[], serverId: string, authorization = ''): [string, Buffer] {
  const [name, nonce = '', ...proofs] = authorization.split(' ')
  if (name !== scheme || !nonceFormat.test(nonce)) throw new Error('invalid Authorization header')
  const key = keys.find((key) => {
    const expected = proofOf(key, 'client', serverId, nonce)
    return proofs.slice(0, maxSecrets).some((proof) => isEqual(proof, expected))
  })
  if (!key) throw new Error('the client has another secret, or expects another process at this address')
  return [nonce, key]
}

export const createWelcome = (key: Buffer, serverId: string, nonce: string, clock: number): Welcome => ({
  proof: proofOf(key, 'server', serverId, nonce, clock),
  clock,
})

export function verifyWelcome(keys: Buffer[], serverId: string, nonce: string, welcome: Welcome): void {
  const { proof, clock } = welcome
  const isValid = (key: Buffer) => isEqual(String(proof), proofOf(key, 'server', serverId, nonce, clock))
  if (!keys.some(isValid)) throw new Error('another process answers at this address')
}

/** The proof contains the role, so that the server's proof cannot serve as a client's, or the reverse. */
const proofOf = (key: Buffer, role: 'client' | 'server', serverId: string, nonce: string, clock?: number) =>
  createHmac('sha256', key)
    .update(JSON.stringify([role, serverId, nonce, clock]))
    .digest('base64url')

const isEqual = (shown: string, expected: string): boolean =>
  Buffer.byteLength(shown) === expected.length && timingSafeEqual(Buffer.from(shown), Buffer.from(expected))
