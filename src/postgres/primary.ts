import { setTimeout as sleep } from 'node:timers/promises'
import { urlsIn } from '../hosts.ts'
import { connectMs, type PrimaryFinder, type Server, serversOf } from './connect.ts'
import { isTransient, connectionError } from './errors.ts'
import { openPool } from './pool.ts'
import { IdleTimeouts } from './timeouts.ts'

const searchMs = 2_000
const retryMs = 50

/** Returns undefined for a single server without `target_session_attrs`. */
export function openPrimaryFinder(databaseUrl: string, timeouts: IdleTimeouts): PrimaryFinder | undefined {
  const [first = ''] = urlsIn(databaseUrl)
  const servers = serversOf(databaseUrl)
  const isWanted = ['read-write', 'primary'].includes(
    new URL(first).searchParams.get('target_session_attrs')!,
  )
  if (servers.length < 2 && !isWanted) return undefined
  let primary: Server | undefined
  let finding: Promise<Server> | undefined

  const search = async () => (primary = await findPrimary(servers, timeouts))
  return {
    find: async () => primary ?? (finding ??= search().finally(() => (finding = undefined))),
    lost: (server) => void (primary === server && (primary = undefined)),
  }
}

export async function primaryServer(databaseUrl: string): Promise<Server> {
  const idleTimeouts = new IdleTimeouts()
  try {
    const primary = await openPrimaryFinder(databaseUrl, idleTimeouts)?.find()
    return primary ?? serversOf(databaseUrl)[0]!
  } finally {
    idleTimeouts.close()
  }
}

/** Probes all servers concurrently, because a dead server may answer late or never. */
async function findPrimary(servers: Server[], idleTimeouts: IdleTimeouts): Promise<Server> {
  const until = performance.now() + searchMs
  let isOver = false
  const probe = async (server: Server): Promise<Server> => {
    for (;;) {
      try {
        await requirePrimary(server, idleTimeouts)
        return server
      } catch (error) {
        if (isOver || performance.now() > until || !isTransient(error)) throw error
      }
      await sleep(retryMs)
    }
  }
  try {
    return await Promise.any(servers.map(probe))
  } catch (error) {
    const { errors } = error as AggregateError
    const reasons = errors.map((error: Error) => error.message).join('; ')
    const noPrimary = connectionError('NO_WRITER', `No server is a primary: ${reasons}`, error)
    throw errors.find((error) => !isTransient(error)) ?? noPrimary
  } finally {
    isOver = true
  }
}

async function requirePrimary(server: Server, idleTimeouts: IdleTimeouts): Promise<void> {
  const sql = openPool({ server, idleTimeouts, pooler: 'on', connections: 1, statementMs: connectMs })
  try {
    const [row] = await sql`select current_setting('transaction_read_only') as setting`
    if (row?.setting !== 'off') throw connectionError('ONLY_READS', 'the server is a standby')
  } finally {
    void sql.end({ timeout: 0 })
  }
}
