import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { urlsIn } from '../hosts.ts'
import { noQueries } from '../metrics/counts.ts'
import { connecting, connectMs, type Target, tlsModeOf } from './connect.ts'
import { isPassing, unreached } from './errors.ts'
import { watched } from './queries.ts'
import { Silence } from './silence.ts'
import { padding } from './workarounds.ts'

/** How long servers are asked again and again before who wants one is told that none writes. */
const patienceMs = 2_000
const restMs = 50

interface Server extends Target {
  url: string
}

/** Of several servers the one that writes; the others follow it, and one of them will, once it is gone. */
export interface Writer {
  /** @throws an error of the connection while there is none, or what a server refuses us with. */
  find(): Promise<Server>
  /** A connection to it has ended: it may be another one by now. */
  lost(server: Target): void
}

/** A URL for each server; which of them is wanted we see to ourselves. */
export function serverUrls(databaseUrl: string): string[] {
  return urlsIn(databaseUrl).map((one) => {
    const url = new URL(one)
    url.searchParams.delete('target_session_attrs')
    return url.href
  })
}

/** Undefined where one server is named, and nothing is said of it. */
export function openWriter(databaseUrl: string, silence: Silence): Writer | undefined {
  const [first = ''] = urlsIn(databaseUrl)
  const servers = serverUrls(databaseUrl).map(serverAt)
  const isTold = ['read-write', 'primary'].includes(new URL(first).searchParams.get('target_session_attrs')!)
  if (servers.length < 2 && !isTold) return undefined
  let known: Server | undefined
  let finding: Promise<Server> | undefined

  const search = async () => (known = await firstThatWrites(servers, silence))
  return {
    find: async () => known ?? (finding ??= search().finally(() => (finding = undefined))),
    lost: (server) => void (known === server && (known = undefined)),
  }
}

/** The URL of the server that writes now, for who needs but one connection. @throws as `find` does */
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
  const { hostname, port } = new URL(url)
  return { url, host: [hostname.replace(/^\[|\]$/g, '')], port: [Number(port || 5432)] }
}

/** Asks all at once, for one that is gone may take long to say nothing. */
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
  const sockets = connecting(silence, { tls: tlsModeOf(url), isPooled: true, silentMs: connectMs })
  const opened = postgres(url, {
    max: 1,
    connect_timeout: connectMs / 1_000,
    ssl: false,
    ...{ socket: sockets.connect },
    onnotice: () => {},
    fetch_types: false,
    prepare: false,
    connection: { application_name: 'docket', ...padding } as Record<string, string>,
  })
  const told = { onStandby: () => {}, counts: noQueries() }
  const sql = watched(opened, { silence, limitMs: connectMs, repeats: false, ...told })
  try {
    const [row] = await sql<
      { readsOnly: string }[]
    >`select current_setting('transaction_read_only') as "readsOnly"`
    if (row?.readsOnly !== 'off') throw unreached('ONLY_READS', 'it only reads')
  } finally {
    void sql.end({ timeout: 0 })
  }
}
