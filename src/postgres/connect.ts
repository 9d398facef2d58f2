import { once } from 'node:events'
import { isIP, isIPv6, Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { hostOf, urlsIn } from '../hosts.ts'
import { type Tls, tlsOf, tlsParameters } from '../tls.ts'
import { connectionError, errorCode } from './errors.ts'

export interface Target {
  host: string[]
  port: number[]
  path?: string | false
  user?: string
  database?: string
}

type Connect = (target: Target) => Socket | Promise<Socket>

/** A server with the arguments of postgres.js, whose own TLS has neither all modes of libpq nor certificate files. */
export interface Server extends Target {
  url: string
  options: { ssl: false; socket: Connect }
}

export const connectMs = 3_000

const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const [tlsAccepted, authentication] = ['S', 'R']

/** Returns the servers of DATABASE_URL. Their URLs lack the parameters that a Postgres server would reject. */
export function serversOf(databaseUrl: string): Server[] {
  const tls = tlsOf(databaseUrl)
  return urlsIn(databaseUrl).map((one) => {
    const url = new URL(one)
    for (const name of ['target_session_attrs', ...tlsParameters]) url.searchParams.delete(name)
    const { host, port } = hostOf(one, 5_432)
    const address = { host: [host], port: [port] }
    const socket = (target: Target) => connectServer(target, tls)
    const database = decodeURIComponent(url.pathname.slice(1))
    // postgres.js reads no IPv6 address in a URL, and does not decode the name of the database.
    const decoded = { ...(isIPv6(host) && address), ...(database && { database }) }
    return { url: url.href, ...address, options: { ...decoded, ssl: false, socket } }
  })
}

async function connectServer(target: Target, tls: Tls): Promise<Socket> {
  const { mode } = tls
  if (mode === 'disable' || target.path) return connectTcp(target)
  if (mode === 'allow')
    return (await isAccepted(connectTcp(target), target)) ? connectTcp(target) : connectTls(target, tls)
  const isPlain = mode === 'prefer' && !(await isAccepted(await connectTls(target, tls), target))
  return isPlain ? connectTcp(target) : connectTls(target, tls)
}

function connectTcp({ host: [host = ''], port: [port = 5432], path }: Target): Socket {
  // postgres.js writes `host` and `port` of a socket into the error of a timeout.
  const socket = Object.assign(new Socket(), { host, port })
  return path ? socket.connect(path) : socket.connect(port, host || 'localhost')
}

/** Returns true if the server continues with the authentication. A line of `pg_hba.conf` may reject TLS or demand it. */
async function isAccepted(socket: Socket, { user = '', database = '' }: Target): Promise<boolean> {
  const content = Buffer.from(`\0\x03\0\0user\0${user}\0database\0${database}\0\0`)
  const length = Buffer.alloc(4)
  length.writeInt32BE(content.length + length.length)
  try {
    socket.write(Buffer.concat([length, content]))
    const answer = await eventOf(socket, 'data', newDeadline())
    return answer.toString('latin1', 0, 1) === authentication
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

function newDeadline(): AbortController {
  const over = new AbortController()
  setTimeout(() => over.abort(new Error('no TLS handshake in time')), connectMs).unref()
  return over
}

async function eventOf(socket: Socket, name: string, over: AbortController): Promise<Buffer> {
  socket.on('error', (error) => over.abort(error))
  socket.on('close', () => over.abort(new Error('the connection was closed')))
  try {
    const [value] = await once(socket, name, over)
    return value as Buffer
  } catch (error) {
    throw over.signal.aborted ? over.signal.reason : error
  }
}

/** Errors of certificates and of the TLS protocol. Other errors may end when the server has started. */
const rejection = /CERT|SELF_SIGNED|CRL|ALTNAME|^ERR_(SSL|OSSL|TLS)/

async function connectTls(target: Target, { mode, options }: Tls): Promise<Socket> {
  const over = newDeadline()
  const socket = connectTcp(target)
  try {
    await eventOf(socket, 'connect', over)
    socket.write(sslRequest)
    const answer = await eventOf(socket, 'data', over)
    if (answer.toString('latin1', 0, 1) !== tlsAccepted) {
      if (mode === 'prefer') return socket
      throw connectionError('TLS_UNSUPPORTED', 'the server does not support TLS')
    }
    const [name = ''] = target.host
    const secure = tlsConnect({ ...options, socket, servername: isIP(name) ? undefined : name })
    await eventOf(secure, 'secureConnect', over)
    return secure
  } catch (error) {
    socket.destroy()
    const { message } = error as Error
    const isRejected = rejection.test(errorCode(error)) || errorCode(error) === 'TLS_UNSUPPORTED'
    const code = isRejected ? errorCode(error) : 'CONNECTION_UNSAFE'
    return failedSocket(connectionError(code, `No TLS with Postgres: ${message}`, error))
  }
}

/** Returns a socket that emits the error. */
export function failedSocket(error: unknown): Socket {
  const socket = Object.assign(new Socket(), { write: () => true })
  setImmediate(() => socket.destroy(error as Error))
  return socket
}
