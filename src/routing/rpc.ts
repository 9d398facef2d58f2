import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import type { ErrorDetails, ErrorStatus } from '../responses/errors.ts'
import type { Reply } from '../responses/reply.ts'

/*
 * RPC between processes: the client keeps one WebSocket to each server.
 *
 *   client   upgrade request with a nonce and its proof in Authorization
 *   server   {proof, clock}: the welcome
 *   client   [first id, deadline, payload, deadline, payload, …]: requests with consecutive ids
 *   server   [clock, id, length, response, …], a line feed, and the bodies of the responses: each has `length` UTF-16 units
 *   client   [0]: a heartbeat; the server replies with [clock]
 *   server   goodbye: the client sends no more requests, and closes after the last response
 *
 * Clocks and deadlines use the server's performance.now(). The client converts its deadlines, so time in buffers counts.
 * Messages after the handshake are neither signed nor encrypted: the network between processes must be private.
 */
export const goodbye = 'goodbye'

/** Timeouts count ticks, so that time during which this process was frozen does not count. */
export const tickMs = 100
export const overheadBytes = 128

/** `machine` is equal in processes that share loopback. Undefined on some systems, and in the previous release. */
export type Peer = { id: string; host: string; port: number; machine?: string }

export interface RpcRequest {
  payload: unknown
  deadline: number
  respond(response: RpcResponse): void
}
export type RequestHandler = (requests: RpcRequest[]) => void

export type RpcError = {
  kind: 'refusal'
  status: ErrorStatus
  message: string
  headers: Record<string, string>
  /** Missing from a process of the previous release. */
  details?: ErrorDetails
}

export type RpcResponse =
  | (Reply & { kind: 'reply' })
  | RpcError
  /** Not started: the command is unknown, the server is closing, or the request is too large. */
  | { kind: 'unknown' }
  | { kind: 'failed' }

export interface RpcOptions {
  secrets: string[]
  /** Bytes of one message. Must be the same in all processes. */
  maxBytes: number
  maxUnsentBytes: number
  maxPending: number
}

const scheme = 'docket'
const maxSecrets = 8
const nonceFormat = /^[\w-]{43}$/

type Welcome = { proof: string; clock: number }

export function channelKeys(secrets: string[]): Buffer[] {
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

/** A larger item is sent in a message of its own. */
const maxMessageBytes = 1_048_576

export class MessageBuffer<T extends { bytes: number }> {
  bytes = 0
  private items: T[] = []

  /** @param isOpen while it returns false, items wait for `flush` */
  constructor(
    private readonly send: (items: T[]) => void,
    private readonly isOpen = () => true,
  ) {}

  get length(): number {
    return this.items.length
  }

  add(item: T): void {
    if (this.items.length === 0) setImmediate(() => this.flush())
    this.items.push(item)
    this.bytes += item.bytes
  }

  flush(): void {
    if (!this.isOpen()) return
    let message: T[] = []
    let bytes = 0
    for (const item of this.drain()) {
      if (bytes > 0 && bytes + item.bytes > maxMessageBytes) {
        this.send(message)
        message = []
        bytes = 0
      }
      message.push(item)
      bytes += item.bytes
    }
    if (bytes > 0) this.send(message)
  }

  drain(): T[] {
    const items = this.items
    this.items = []
    this.bytes = 0
    return items
  }
}
