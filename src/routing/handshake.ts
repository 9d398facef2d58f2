import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { UnauthenticatedPeer } from './rpc.ts'

const scheme = 'docket'
const maxSecrets = 8
/** 32 random bytes in base64url. */
const nonceFormat = /^[\w-]{43}$/

/** What the client sends about itself; both proofs cover it. */
export interface Hello {
  serverId: string
  nonce: string
  /** The largest message that the client takes. */
  maxBytes: number
}

export interface Welcome {
  proof: string
  /** The largest message that the server takes. */
  maxBytes: number
  clock: number
}

export function deriveKeys(secrets: string[]): Buffer[] {
  if (secrets.length === 0 || secrets.some((secret) => secret === '')) throw new Error('A secret is missing')
  return secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, '', 'docket channel', 32)))
}

export const helloTo = (serverId: string, maxBytes: number): Hello => ({
  serverId,
  nonce: randomBytes(32).toString('base64url'),
  maxBytes,
})

/** The Authorization header of the upgrade request: one proof for each secret. */
export function authorizationOf(keys: Buffer[], hello: Hello): string {
  const proofs = keys.map((key) => clientProof(key, hello))
  return [scheme, hello.nonce, hello.maxBytes, ...proofs].join(' ')
}

/**
 * The client's hello, and the key that both sides know.
 * @throws UnauthenticatedPeer when no proof is right
 */
export function authenticate(keys: Buffer[], serverId: string, authorization = ''): [Hello, Buffer] {
  const [name, nonce = '', bytes, ...proofs] = authorization.split(' ')
  const maxBytes = Number(bytes)
  if (name !== scheme || !nonceFormat.test(nonce) || !Number.isSafeInteger(maxBytes))
    throw new UnauthenticatedPeer('no proof of this protocol')
  const hello = { serverId, nonce, maxBytes }
  const shown = proofs.slice(0, maxSecrets)
  const key = keys.find((one) => shown.map((proof) => isEqual(proof, clientProof(one, hello))).includes(true))
  if (!key) throw new UnauthenticatedPeer('knows no secret of this process, or means another process')
  return [hello, key]
}

export function welcomeOf(key: Buffer, hello: Hello, maxBytes: number, clock: number): Welcome {
  return { proof: serverProof(key, hello, maxBytes, clock), maxBytes, clock }
}

/** @throws UnauthenticatedPeer when the server is not the one that the hello was meant for */
export function verifyWelcome(keys: Buffer[], hello: Hello, { proof, maxBytes, clock }: Welcome): void {
  const isRight = (key: Buffer) => isEqual(String(proof), serverProof(key, hello, maxBytes, clock))
  if (!keys.some(isRight)) throw new UnauthenticatedPeer('is not the process that was expected')
}

const clientProof = (key: Buffer, { serverId, nonce, maxBytes }: Hello) =>
  mac(key, ['client', serverId, nonce, maxBytes])

const serverProof = (key: Buffer, hello: Hello, maxBytes: number, clock: number) =>
  mac(key, ['server', hello.serverId, hello.nonce, hello.maxBytes, maxBytes, clock])

const mac = (key: Buffer, fields: unknown[]) =>
  createHmac('sha256', key).update(JSON.stringify(fields)).digest('base64url')

/** In constant time. */
function isEqual(shown: string, right: string): boolean {
  const [a, b] = [Buffer.from(shown), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}
