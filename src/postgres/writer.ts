import { setTimeout as sleep } from 'node:timers/promises'
import { hostOf, urlsIn } from '../hosts.ts'
import { connectMs, type Target, type Writer } from './connect.ts'
import { isPassing, unreached } from './errors.ts'
import { openPool } from './pool.ts'
import { Silence } from './silence.ts'

const patienceMs = 2_000
const restMs = 50

type Server = Target & { url: string }

/** A URL for each server; `openWriter` reads what the URL wants of them. */
export function serverUrls(databaseUrl: string): string[] {
  return urlsIn(databaseUrl).map((one) => {
    const url = new URL(one)
    url.searchParams.delete('target_session_attrs')
    return url.href
  })
}

/** Undefined for one server of any kind. */
export function openWriter(databaseUrl: string, silence: Silence): Writer<Server> | undefined {
  const [first = ''] = urlsIn(databaseUrl)
  const servers = serverUrls(databaseUrl).map(serverAt)
  const isWanted = ['read-write', 'primary'].includes(
    new URL(first).searchParams.get('target_session_attrs')!,
  )
  if (servers.length < 2 && !isWanted) return undefined
  let known: Server | undefined
  let finding: Promise<Server> | undefined

  const search = async () => (known = await firstThatWrites(servers, silence))
  return {
    find: async () => known ?? (finding ??= search().finally(() => (finding = undefined))),
    lost: (server) => void (known === server && (known = undefined)),
  }
}

/** The URL of the server that writes now, for callers of a single connection. @throws as `find` does */
export async function writerUrl(databaseUrl: string): Promise<string> {
  const silence = new Silence()
  try {
    const found = await openWriter(databaseUrl, silence)?.find()
    return found?.url ?? databaseUrl
  } finally {
    silence.close()
  }
}

function serverAt(url: string): Server {
  const { host, port } = hostOf(url, 5_432)
  return { url, host: [host], port: [port] }
}

/** Probes all at once, because a dead server may answer late or never. */
async function firstThatWrites(servers: Server[], silence: Silence): Promise<Server> {
  const until = performance.now() + patienceMs
  let isOver = false
  const untilItWrites = async (server: Server): Promise<Server> => {
    for (;;) {
      try {
        await requireWriting(server, silence)
        return server
      } catch (error) {
        if (isOver || performance.now() > until || !isPassing(error)) throw error
      }
      await sleep(restMs)
    }
  }
  try {
    return await Promise.any(servers.map(untilItWrites))
  } catch (error) {
    const { errors } = error as AggregateError
    const reasons = errors.map((one: Error) => one.message).join('; ')
    throw errors.find((one) => !isPassing(one)) ?? unreached('NO_WRITER', `No server writes: ${reasons}`)
  } finally {
    isOver = true
  }
}

/** @throws when it cannot be reached, or only reads. */
async function requireWriting({ url }: Server, silence: Silence): Promise<void> {
  const sql = openPool({ url, silence, pooler: 'on', connections: 1, statementMs: connectMs })
  try {
    const [row] = await sql<
      { readsOnly: string }[]
    >`select current_setting('transaction_read_only') as "readsOnly"`
    if (row?.readsOnly !== 'off') throw unreached('ONLY_READS', 'it only reads')
  } finally {
    void sql.end({ timeout: 0 })
  }
}
