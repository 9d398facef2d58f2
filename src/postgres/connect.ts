import { once } from 'node:events'
import { isIP, Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { urlsIn } from '../hosts.ts'
import { unreached } from './errors.ts'
import type { Silence } from './silence.ts'
import { endingAtOnce, greetingAlone } from './workarounds.ts'

export type Target = { host: string[]; port: number[]; path?: string | false }

export interface Writer<S extends Target = Target> {
  /** @throws the last error of the servers while none writes. */
  find(): Promise<S>
  /** A connection to the server has ended: another server may write by now. */
  lost(server: Target): void
}

/** As libpq's `sslmode`; only `verify-full` checks the name in the certificate. */
type TlsMode = 'disable' | 'prefer' | 'require' | 'verify-full'

export const connectMs = 3_000

const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const accepted = 0x53 // "S"

/** postgres.js does not survive a failure to make a socket, and its own TLS would bypass the workarounds. */
export function connecting(
  silence: Silence,
  quietMs: number,
  tls: TlsMode,
  isPooled: boolean,
  writer?: Writer,
) {
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
      silence.watch(socket, quietMs)
      greetingAlone(socket, isPooled)
      open.add(socket)
      return socket.once('close', () => open.delete(socket))
    },

    /** Ends all connections: the next ones may reach another server. */
    renew(): void {
      for (const socket of open) socket.destroy(unreached('CONNECTION_RENEWED', 'The server only reads'))
      open.clear()
    },
  }
}

function plain({ host, port, path }: Target): Socket {
  const socket = new Socket()
  return path ? socket.connect(path) : socket.connect(port[0] ?? 5432, host[0] ?? 'localhost')
}

/** A socket behind TLS, or a socket that is about to end with the reason why there is none. */
async function secured(target: Target, mode: TlsMode): Promise<Socket> {
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(new Error('it took too long')), connectMs)
  const opened = [plain(target)]
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
    if (answer !== accepted && mode === 'prefer') return opened[0]!
    if (answer !== accepted) throw new Error('the server has none')
    const [name = ''] = target.host
    const servername = isIP(name) ? undefined : name
    opened.push(connectTls({ socket: opened[0]!, servername, rejectUnauthorized: mode === 'verify-full' }))
    await event('secureConnect')
    return opened[1]!
  } catch (error) {
    for (const socket of opened) socket.destroy()
    const cause = over.signal.aborted ? over.signal.reason : error
    return ended(unreached('CONNECTION_UNSAFE', `No TLS with Postgres: ${cause.message}`, cause))
  } finally {
    clearTimeout(timer)
  }
}

function ended(error: unknown): Socket {
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
