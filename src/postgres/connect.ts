import { isIP, Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import { urlsIn } from '../hosts.ts'
import { unreached } from './errors.ts'
import type { Silence } from './silence.ts'
import { endingAtOnce, greetingAlone } from './workarounds.ts'

export interface Target {
  host: string[]
  port: number[]
  path?: string | false
}

/** Of several servers the one that writes. */
export interface Writer<S extends Target = Target> {
  /** @throws the last error of the servers while none writes. */
  find(): Promise<S>
  /** A connection to the server has ended: another server may write by now. */
  lost(server: Target): void
}

/** As libpq's `sslmode`; only `verify-full` checks the name in the certificate. */
export type TlsMode = 'disable' | 'prefer' | 'require' | 'verify-full'

/** How long connecting may take. */
export const connectMs = 3_000

const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const accepted = 0x53 // "S"

export interface Connecting {
  writer?: Writer
  tls: TlsMode
  /** A pooler stands before the server. */
  isPooled: boolean
}

/**
 * Opens connections to Postgres for postgres.js. It does not get over a socket that cannot be had, nor bounds the wait
 * for one, and TLS of its own making would go past every watch: so what it gets is a socket in any case, which speaks
 * to Postgres or ends with an error.
 */
export function connecting(silence: Silence, { writer, tls, isPooled }: Connecting) {
  const open = new Set<Socket>()
  const reach = (target: Target) => (tls === 'disable' || target.path ? plain(target) : secured(target, tls))
  const reachWriter = (writes: Writer) =>
    writes.find().then(async (server) => {
      const socket = await reach(server)
      return socket.once('close', () => writes.lost(server))
    }, ended)
  return {
    async connect(target: Target): Promise<Socket> {
      const socket = await (writer ? reachWriter(writer) : reach(target))
      endingAtOnce(socket)
      silence.watch(socket)
      greetingAlone(socket, isPooled)
      open.add(socket)
      return socket.once('close', () => open.delete(socket))
    },

    /** Ends all connections, so that the next ones are made anew, perhaps to another server. */
    renew(): void {
      for (const socket of open) socket.destroy(unreached('CONNECTION_RENEWED', 'The server only reads'))
      open.clear()
    },
  }
}

function plain({ host, port, path }: Target, socket = new Socket()): Socket {
  return path ? socket.connect(path) : socket.connect(port[0] ?? 5432, host[0] ?? 'localhost')
}

/** A socket behind TLS, or one that is about to end with the reason why there is none. */
function secured(target: Target, mode: TlsMode): Promise<Socket> {
  const raw = new Socket()
  const { promise, resolve } = Promise.withResolvers<Socket>()
  let latest: Socket = raw
  const finish = (socket: Socket) => {
    clearTimeout(timer)
    for (const one of [raw, socket]) one.removeListener('error', fail).removeListener('close', fail)
    resolve(socket)
  }
  const fail = (cause?: unknown) => {
    for (const one of [latest, raw])
      one
        .removeAllListeners()
        .on('error', () => {})
        .destroy()
    finish(ended(unreached('CONNECTION_UNSAFE', `No TLS with Postgres: ${reason(cause)}`, cause)))
  }
  const timer = setTimeout(() => fail(new Error('it took too long')), connectMs)
  raw.on('error', fail).on('close', fail)
  raw.once('connect', () => raw.write(sslRequest))
  raw.once('data', (answer: Buffer) => {
    if (answer[0] !== accepted)
      return mode === 'prefer' ? finish(raw) : fail(new Error('the server has none'))
    latest = connectTls({ socket: raw, ...settings(target, mode) })
    latest
      .on('error', fail)
      .on('close', fail)
      .once('secureConnect', () => finish(latest))
  })
  plain(target, raw)
  return promise
}

/** A socket that is about to end with this error. */
function ended(error: unknown): Socket {
  const socket = Object.assign(new Socket(), { write: () => true })
  setImmediate(() => socket.destroy(error as Error))
  return socket
}

function settings({ host }: Target, mode: TlsMode): ConnectionOptions {
  const [name = ''] = host
  return { servername: isIP(name) ? undefined : name, rejectUnauthorized: mode === 'verify-full' }
}

const reason = (cause: unknown): string =>
  cause instanceof Error ? cause.message : 'the connection was closed'

/** What a URL asks for, in the words of postgres.js and of libpq. */
export function tlsModeOf(databaseUrl: string): TlsMode {
  const [first = ''] = urlsIn(databaseUrl)
  const { searchParams } = new URL(first)
  const said = searchParams.get('sslmode') ?? searchParams.get('ssl') ?? 'disable'
  if (searchParams.get('sslrootcert') === 'system') return 'verify-full'
  if (said === 'disable' || said === 'false') return 'disable'
  if (said === 'prefer' || said === 'allow') return 'prefer'
  return said === 'require' ? 'require' : 'verify-full'
}
