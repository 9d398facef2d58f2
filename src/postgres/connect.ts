import { once } from 'node:events'
import { isIP, Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { urlsIn } from '../hosts.ts'
import { connectionError } from './errors.ts'
import type { IdleTimeouts } from './timeouts.ts'
import { closeOnError, startupMessageFirst } from './workarounds.ts'

export type ServerAddress = { host: string[]; port: number[]; path?: string | false }

export type Server = ServerAddress & { url: string }

export interface PrimaryFinder {
  find(): Promise<Server>
  /** Call when a connection to the server has closed: another server may now be the primary. */
  lost(server: ServerAddress): void
}

/** As `sslmode` in libpq, where only `verify-full` checks the name in the certificate. */
type TlsMode = 'disable' | 'prefer' | 'require' | 'verify-full'

export const connectMs = 3_000

const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const tlsAccepted = 0x53

/** Creates the sockets of postgres.js, whose own TLS would bypass the workarounds. */
export function createConnector(
  idleTimeouts: IdleTimeouts,
  idleMs: number,
  tls: TlsMode,
  isPooled: boolean,
  primary?: PrimaryFinder,
) {
  const open = new Set<Socket>()
  const connectServer = (target: ServerAddress) =>
    tls === 'disable' || target.path ? connectTcp(target) : connectTls(target, tls)
  const connectPrimary = (finder: PrimaryFinder) =>
    finder.find().then(async (server) => {
      const socket = await connectServer(server)
      return socket.once('close', () => finder.lost(server))
    }, failedSocket)
  return {
    async connect(target: ServerAddress): Promise<Socket> {
      const socket = await (primary ? connectPrimary(primary) : connectServer(target))
      closeOnError(socket)
      idleTimeouts.watch(socket, idleMs)
      startupMessageFirst(socket, isPooled)
      open.add(socket)
      return socket.once('close', () => open.delete(socket))
    },

    closeAll(): void {
      for (const socket of open)
        socket.destroy(connectionError('CONNECTION_RENEWED', 'The server is a standby'))
      open.clear()
    },
  }
}

function connectTcp({ host, port, path }: ServerAddress): Socket {
  const socket = new Socket()
  return path ? socket.connect(path) : socket.connect(port[0] ?? 5432, host[0] ?? 'localhost')
}

/** On failure, returns a socket that emits the error. */
async function connectTls(target: ServerAddress, mode: TlsMode): Promise<Socket> {
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(new Error('no TLS handshake in time')), connectMs)
  const opened = [connectTcp(target)]
  const event = async (name: string) => {
    const socket = opened.at(-1)!.on('error', (error) => over.abort(error))
    socket.on('close', () => over.abort(new Error('the connection was closed')))
    const [value] = await once(socket, name, over)
    return value as Buffer
  }
  try {
    await event('connect')
    opened[0]!.write(sslRequest)
    const [answer] = await event('data')
    if (answer !== tlsAccepted && mode === 'prefer') return opened[0]!
    if (answer !== tlsAccepted) throw new Error('the server does not support TLS')
    const [name = ''] = target.host
    const servername = isIP(name) ? undefined : name
    opened.push(tlsConnect({ socket: opened[0]!, servername, rejectUnauthorized: mode === 'verify-full' }))
    await event('secureConnect')
    return opened[1]!
  } catch (error) {
    for (const socket of opened) socket.destroy()
    const cause = over.signal.aborted ? over.signal.reason : error
    return failedSocket(connectionError('CONNECTION_UNSAFE', `No TLS with Postgres: ${cause.message}`, cause))
  } finally {
    clearTimeout(timer)
  }
}

function failedSocket(error: unknown): Socket {
  const socket = Object.assign(new Socket(), { write: () => true })
  setImmediate(() => socket.destroy(error as Error))
  return socket
}

export function tlsModeOf(databaseUrl: string): TlsMode {
  const [first = ''] = urlsIn(databaseUrl)
  const { searchParams } = new URL(first)
  const mode = searchParams.get('sslmode') ?? searchParams.get('ssl') ?? 'disable'
  if (searchParams.get('sslrootcert') === 'system') return 'verify-full'
  if (mode === 'disable' || mode === 'false') return 'disable'
  if (mode === 'prefer' || mode === 'allow') return 'prefer'
  return mode === 'require' ? 'require' : 'verify-full'
}
