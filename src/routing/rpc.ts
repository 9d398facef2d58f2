import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import type { ErrorDetails, ErrorStatus } from '../responses/errors.ts'
import type { Reply } from '../responses/reply.ts'
import { readFileSync, readlinkSync } from 'node:fs'
import { networkInterfaces } from 'node:os'

/*
 * RPC between processes: the client keeps one WebSocket to each server.
 *
 *   client   upgrade request with a nonce and its proof in Authorization
 *   server   {proof, clock}: the welcome
 *   client   [first id, deadline, payload, deadline, payload, …]: requests with consecutive ids
 *   server   [clock, id, length, response, …], a line feed, and the bodies of the responses: each has `length` UTF-16 units
 *   client   [0]: a heartbeat; the server replies with [clock]
 *
 * Clocks and deadlines use the server's performance.now(). The client converts its deadlines, so time in buffers counts.
 * Messages after the handshake are neither signed nor encrypted: the network between processes must be private.
 */

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

/** A larger item is sent in a message of its own. A client that connects sends all its items in one message. */
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
    if (this.bytes + item.bytes > maxMessageBytes) this.flush()
    if (this.items.length === 0) setImmediate(() => this.flush())
    this.items.push(item)
    this.bytes += item.bytes
  }

  flush(): void {
    if (this.items.length > 0 && this.isOpen()) this.send(this.drain())
  }

  drain(): T[] {
    const items = this.items
    this.items = []
    this.bytes = 0
    return items
  }
}

/** For a wildcard host, returns the first IPv4 address of this machine that other machines may reach. */
export function ownAddress(host: string, interfaces = networkInterfaces()): string {
  if (host !== '0.0.0.0' && host !== '::') return host
  const all = Object.values(interfaces).flatMap((some) => some ?? [])
  return all.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1'
}

/** Identifies the network namespace of this boot of a Linux machine: processes in it share loopback. */
export function ownMachine(): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot} ${readlinkSync('/proc/self/ns/net')}`
  } catch {
    return undefined
  }
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.')

/** Returns what the operator must do if processes of other machines are alive but cannot reach this process. */
export function unreachableHost(self: Peer, peers: Iterable<Peer>): string | undefined {
  if (!isLoopback(self.host)) return undefined
  for (const { host, machine = self.machine } of peers)
    if (!isLoopback(host) || machine !== self.machine)
      return `A process of another machine is alive (its HOME_HOST is ${host}), but cannot reach this process at ${self.host}: set HOME_HOST to an address that the other machines can reach, or to 0.0.0.0 for the first address of this machine`
  return undefined
}
