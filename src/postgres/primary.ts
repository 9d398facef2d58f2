import { urlsIn } from '../hosts.ts'
import { within } from '../waits.ts'
import { connectMs, failedSocket, type Server, serversOf, type Target } from './connect.ts'
import { isTransient, connectionError } from './errors.ts'
import { openPool } from './pool.ts'

const searchMs = 2_000

/**
 * Returns the server of DATABASE_URL. If the URL has several servers or `target_session_attrs`, each connection goes to
 * the primary: postgres.js would retry dead servers without a pause.
 */
export function primaryServer(databaseUrl: string): Server {
  const servers = serversOf(databaseUrl)
  const [first] = servers as [Server]
  const attributes = new URL(urlsIn(databaseUrl)[0]!).searchParams.get('target_session_attrs')
  if (servers.length < 2 && !['read-write', 'primary'].includes(attributes!)) return first
  let primary: Promise<Server> | undefined
  const socket = async ({ user, database }: Target) => {
    const found = (primary ??= findPrimary(servers))
    const forget = () => void (primary === found && (primary = undefined))
    try {
      const { host, port, options } = await found
      const socket = await options.socket({ host, port, user, database })
      // Another server may now be the primary.
      return socket.once('close', forget)
    } catch (error) {
      forget()
      return failedSocket(error)
    }
  }
  return { ...first, options: { ...first.options, socket } }
}

/** Probes all servers concurrently, because a dead server may answer late or never. */
async function findPrimary(servers: Server[]): Promise<Server> {
  try {
    const found = await within(searchMs, Promise.any(servers.map(requirePrimary)))
    if (found) return found
  } catch (error) {
    const { errors } = error as AggregateError
    const reasons = errors.map((error: Error) => error.message).join('; ')
    const noPrimary = connectionError('NO_WRITER', `No server is a primary: ${reasons}`, error)
    throw errors.find((error) => !isTransient(error)) ?? noPrimary
  }
  throw connectionError('NO_WRITER', `No server was a primary within ${searchMs} ms`)
}

async function requirePrimary(server: Server): Promise<Server> {
  const sql = openPool({ server, pooler: 'on', connections: 1, statementMs: connectMs })
  try {
    const [row] = await sql`select current_setting('transaction_read_only') as setting`
    if (row?.setting !== 'off') throw connectionError('ONLY_READS', 'the server is a standby')
    return server
  } finally {
    void sql.end({ timeout: 0 })
  }
}
