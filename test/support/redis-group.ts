import { randomBytes } from 'node:crypto'
import { mkdir, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis, type RedisOptions } from 'ioredis'
import { freePort } from '../../src/local/server.ts'
import { endServer, launch, logTail } from '../../src/local/process.ts'
import { redisBinary } from '../../src/local/redis.ts'
import { until } from '../../src/local/wait.ts'
import { cert, key } from './tls-proxy.ts'

const readyTimeoutMs = 40_000
export const masterName = 'main'
const password = 's3cret'
const settings = { bind: '127.0.0.1', save: '', appendonly: 'no', 'repl-diskless-sync-delay': '0' }

type RedisNode = Awaited<ReturnType<typeof openNode>>

export interface RedisGroup {
  url: string
  nodes: RedisNode[]
  /** Returns the master; in a cluster, one of the masters. */
  master(): Promise<RedisNode>
  stop(): Promise<void>
}

interface Site {
  dir: string
  /** Whether the servers accept only TLS connections with the password. */
  isSecured: boolean
}

/** Starts a cluster of three masters, each with a third of the hash slots. */
export async function openRedisCluster(dataDir?: string, isSecured = false): Promise<RedisGroup> {
  const dir = await ownDir(dataDir)
  const own = { 'cluster-enabled': 'yes', 'cluster-node-timeout': '1000' }
  const nodes = await Promise.all([0, 1, 2].map((n) => openNode({ dir: join(dir, `${n}`), isSecured }, own)))
  for (const [n, node] of nodes.entries()) {
    const [from, to] = [n, n + 1].map((at) => Math.floor((16_384 * at) / 3))
    await node.command('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to! - 1))
    await node.command('CLUSTER', 'MEET', '127.0.0.1', String(nodes[0]!.port))
  }
  const isUp = async () => {
    const infos = await Promise.all(nodes.map(({ command }) => command('CLUSTER', 'INFO')))
    return infos.every((info) => /cluster_state:ok.*cluster_known_nodes:3/s.test(String(info)))
  }
  await waitFor('The cluster', isUp)
  const url = `${scheme(isSecured, 'cluster')}${nodes.map(({ port }) => `127.0.0.1:${port}`).join()}`
  return { url, nodes, master: async () => nodes[0]!, stop: () => stopAll(nodes) }
}

/** Starts a master, a replica and three sentinels. */
export async function openRedisSentinels(dataDir?: string, isSecured = false): Promise<RedisGroup> {
  const dir = await ownDir(dataDir)
  const at = (name: string) => ({ dir: join(dir, name), isSecured })
  const first = await openNode(at('a'), {})
  const second = await openNode(at('b'), { replicaof: `127.0.0.1 ${first.port}` })
  await waitFor('The replica', async () => /master_link_status:up/.test(String(await second.command('INFO'))))
  const sentinels = await Promise.all(
    [0, 1, 2].map((n) =>
      openSentinel(join(dir, `sentinel-${n}`), first.port, { quorum: 2, downMs: 500 }, isSecured),
    ),
  )
  const areConnected = async () => {
    const infos = await Promise.all(sentinels.map((one) => one.command('SENTINEL', 'MASTER', masterName)))
    return infos.every((info) => /num-slaves,1,.*num-other-sentinels,2,/.test(String(info)))
  }
  await waitFor('The sentinels', areConnected)
  const nodes = [first, second]
  const isMaster = async ({ command }: RedisNode) =>
    String(await command('ROLE').catch(() => '')).startsWith('master')
  return {
    url: `${scheme(isSecured, 'sentinel')}${sentinels.map(({ port }) => `127.0.0.1:${port}`).join()}/${masterName}`,
    nodes,
    master: async () => ((await isMaster(first)) ? first : second),
    stop: () => stopAll([...sentinels, ...nodes]),
  }
}

export function openSentinel(
  dir: string,
  port: number,
  { quorum, downMs }: Record<'quorum' | 'downMs', number>,
  isSecured = false,
) {
  const lines = [
    `sentinel monitor ${masterName} 127.0.0.1 ${port} ${quorum}`,
    `sentinel down-after-milliseconds ${masterName} ${downMs}`,
    `sentinel failover-timeout ${masterName} 3000`,
    `bind 127.0.0.1`,
  ]
  if (isSecured) lines.push(`sentinel auth-pass ${masterName} ${password}`)
  return openNode({ dir, isSecured }, {}, lines)
}

async function openNode({ dir, isSecured }: Site, own: Record<string, string>, sentinel?: string[]) {
  await mkdir(dir, { recursive: true })
  const binary = await redisBinary(console.error)
  const port = await clusterPort()
  const toArguments = (all: Record<string, string>) =>
    Object.entries(all).flatMap(([name, value]) => [`--${name}`, ...value.split(' ')])
  const passwords = isSecured && { requirepass: password, masterauth: password }
  const options = toArguments({ ...settings, ...own, ...passwords })
  const file = join(dir, 'sentinel.conf')
  if (sentinel) await writeFile(file, sentinel.join('\n'))
  const listens = isSecured ? await tlsSettings(dir, port) : { port: String(port) }
  const command = [binary, ...(sentinel ? [file, '--sentinel'] : options), ...toArguments(listens)]
  let pid = 0
  const login = isSecured && { tls: { ca: cert }, ...(!sentinel && { password }) }
  const send = (...command: string[]) => sendCommand({ port, ...login }, command)
  const start = async () => {
    pid = launch({ command: [...command, '--dir', dir], cwd: dir, logFile: `${dir}.log` }).pid
    const isReady = () => send('PING').then(...isPong)
    await waitFor(`Redis (${await logTail(`${dir}.log`)})`, isReady)
  }
  await start()
  const kill = async () => void (await endServer(pid, dir, 'SIGKILL', 5_000))
  return { port, command: send, start, kill }
}

const isPong = [(reply: unknown) => reply === 'PONG', () => false] as const

/** Returns a free port below 55,536, because a cluster node also uses the port 10,000 above. */
async function clusterPort(): Promise<number> {
  const port = await freePort()
  return port < 55_536 ? port : clusterPort()
}

async function tlsSettings(dir: string, port: number): Promise<Record<string, string>> {
  for (const [name, text] of Object.entries({ cert, key })) await writeFile(join(dir, name), text)
  const files = { 'tls-cert-file': 'cert', 'tls-key-file': 'key', 'tls-ca-cert-file': 'cert' }
  return {
    ...{ port: '0', 'tls-port': String(port), 'tls-auth-clients': 'no' },
    ...{ 'tls-replication': 'yes', 'tls-cluster': 'yes' },
    ...Object.fromEntries(Object.entries(files).map(([name, file]) => [name, join(dir, file)])),
  }
}

const scheme = (isSecured: boolean, kind: string) =>
  isSecured ? `rediss+${kind}://:${password}@` : `redis+${kind}://`

export async function sendCommand(options: RedisOptions, [name = '', ...args]: string[]): Promise<unknown> {
  const oneAttempt = { lazyConnect: true, enableReadyCheck: false, retryStrategy: () => null }
  const redis = new Redis({ ...options, ...oneAttempt, host: '127.0.0.1' })
  redis.on('error', () => {})
  return redis.call(name, ...args).finally(() => redis.disconnect())
}

async function waitFor(what: string, isReady: () => Promise<boolean>): Promise<void> {
  const ready = async () => ((await isReady()) ? true : undefined)
  if (!(await until(ready, readyTimeoutMs, { everyMs: 20 }))) throw new Error(`${what} did not get ready`)
}

const ownDir = async (dataDir = process.env.TEST_DATA_DIR!) =>
  join(await realpath(dataDir), `redis-group-${randomBytes(4).toString('hex')}`)

const stopAll = async (nodes: RedisNode[]) => void (await Promise.all(nodes.map((node) => node.kill())))
