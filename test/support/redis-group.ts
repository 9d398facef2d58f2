import { randomBytes } from 'node:crypto'
import { mkdir, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis, type RedisOptions } from 'ioredis'
import { freePort } from '../../src/local/port.ts'
import { endServer, launch, logTail } from '../../src/local/process.ts'
import { redisBinary } from '../../src/local/redis-binary.ts'
import { until } from '../../src/local/wait.ts'
import { cert, key } from './tls-proxy.ts'

const readyTimeoutMs = 40_000
export const masterName = 'main'
const password = 's3cret'
const settings = { bind: '127.0.0.1', save: '', appendonly: 'no', 'repl-diskless-sync-delay': '0' }

/** A server of a group. */
export interface RedisNode {
  port: number
  command(...command: string[]): Promise<unknown>
  kill(): Promise<void>
  /** Again at the same port, with nothing. */
  start(): Promise<void>
}

export interface RedisGroup {
  url: string
  nodes: RedisNode[]
  /** The one that is master, or any of several. */
  master(): Promise<RedisNode>
  stop(): Promise<void>
}

/** Where a group is; one that is secured speaks TLS only, with everybody, and knows who brings the password. */
interface Site {
  dir: string
  isSecured: boolean
}

/** Three masters, each with a third of all slots. */
export async function openRedisCluster(
  dataDir = process.env.TEST_DATA_DIR!,
  isSecured = false,
): Promise<RedisGroup> {
  const dir = await ownDir(dataDir)
  const own = { 'cluster-enabled': 'yes', 'cluster-node-timeout': '1000' }
  const nodes = await Promise.all([0, 1, 2].map((n) => openNode({ dir: join(dir, `${n}`), isSecured }, own)))
  for (const [n, node] of nodes.entries()) {
    const [from, to] = [n, n + 1].map((at) => Math.floor((16_384 * at) / 3))
    await node.command('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to! - 1))
    await node.command('CLUSTER', 'MEET', '127.0.0.1', String(nodes[0]!.port))
  }
  const isUp = async () => {
    const told = await Promise.all(nodes.map(({ command: ask }) => ask('CLUSTER', 'INFO')))
    return told.every((info) => /cluster_state:ok.*cluster_known_nodes:3/s.test(String(info)))
  }
  await waitFor('the cluster', isUp)
  const url = `${head(isSecured, 'cluster')}${nodes.map(({ port }) => `127.0.0.1:${port}`).join()}`
  return { url, nodes, master: async () => nodes[0]!, stop: () => stopped(nodes) }
}

/** A master, its replica, and three sentinels that watch over them. */
export async function openRedisSentinels(
  dataDir = process.env.TEST_DATA_DIR!,
  isSecured = false,
): Promise<RedisGroup> {
  const dir = await ownDir(dataDir)
  const at = (name: string) => ({ dir: join(dir, name), isSecured })
  const first = await openNode(at('a'), {})
  const second = await openNode(at('b'), { replicaof: `127.0.0.1 ${first.port}` })
  await waitFor('the replica', async () => /master_link_status:up/.test(String(await second.command('INFO'))))
  const sentinels = await Promise.all(
    [0, 1, 2].map((n) =>
      openSentinel(join(dir, `sentinel-${n}`), first.port, { quorum: 2, downMs: 500 }, isSecured),
    ),
  )
  const known = (one: RedisNode) => one.command('SENTINEL', 'MASTER', masterName).then(String)
  const knowAll = async () => {
    const told = await Promise.all(sentinels.map(known))
    return told.every((text) => /num-slaves,1,.*num-other-sentinels,2,/.test(text))
  }
  await waitFor('the sentinels', knowAll)
  const nodes = [first, second]
  const isMaster = async ({ command: ask }: RedisNode) =>
    String(await ask('ROLE').catch(() => '')).startsWith('master')
  return {
    url: `${head(isSecured, 'sentinel')}${sentinels.map(({ port }) => `127.0.0.1:${port}`).join()}/${masterName}`,
    nodes,
    master: async () => ((await isMaster(first)) ? first : second),
    stop: () => stopped([...sentinels, ...nodes]),
  }
}

/** One that watches over the master at a port. */
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

/** A node of these settings, or a sentinel of these lines. */
async function openNode(
  { dir, isSecured }: Site,
  own: Record<string, string>,
  sentinel?: string[],
): Promise<RedisNode> {
  await mkdir(dir, { recursive: true })
  const binary = await redisBinary(console.error)
  const port = await portWithAnother()
  const words = (all: Record<string, string>) =>
    Object.entries(all).flatMap(([name, value]) => [`--${name}`, ...value.split(' ')])
  const login = { requirepass: password, masterauth: password }
  const options = words({ ...settings, ...own, ...(isSecured && login) })
  const file = join(dir, 'sentinel.conf')
  if (sentinel) await writeFile(file, sentinel.join('\n'))
  const listens = isSecured ? await tlsSettings(dir, port) : { port: String(port) }
  const command = [binary, ...(sentinel ? [file, '--sentinel'] : options), ...words(listens)]
  let pid = 0
  const ways = isSecured && { tls: { ca: cert }, ...(!sentinel && { password }) }
  const ask = (...command: string[]) => asked({ port, ...ways }, command)
  const start = async () => {
    pid = launch({ command: [...command, '--dir', dir], cwd: dir, logFile: `${dir}.log` }).pid
    const answers = () => ask('PING').then((answer) => answer === 'PONG')
    await waitFor(`Redis (${await logTail(`${dir}.log`)})`, () => answers().catch(() => false))
  }
  await start()
  return { port, command: ask, start, kill: async () => void (await endServer(pid, dir, 'SIGKILL', 5_000)) }
}

/** The nodes of a cluster take another port beside it, ten thousand further on. */
async function portWithAnother(): Promise<number> {
  const port = await freePort()
  return port < 55_536 ? port : portWithAnother()
}

/** All lines are secured: of clients, of replicas and between the nodes of a cluster. */
async function tlsSettings(dir: string, port: number): Promise<Record<string, string>> {
  for (const [name, text] of Object.entries({ cert, key })) await writeFile(join(dir, name), text)
  const files = { 'tls-cert-file': 'cert', 'tls-key-file': 'key', 'tls-ca-cert-file': 'cert' }
  return {
    ...{ port: '0', 'tls-port': String(port), 'tls-auth-clients': 'no' },
    ...{ 'tls-replication': 'yes', 'tls-cluster': 'yes' },
    ...Object.fromEntries(Object.entries(files).map(([name, file]) => [name, join(dir, file)])),
  }
}

const head = (isSecured: boolean, kind: string) =>
  isSecured ? `rediss+${kind}://:${password}@` : `redis+${kind}://`

async function asked(ways: RedisOptions, [name = '', ...args]: string[]): Promise<unknown> {
  const redis = new Redis({
    ...ways,
    host: '127.0.0.1',
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => null,
  })
  redis.on('error', () => {})
  return redis.call(name, ...args).finally(() => redis.disconnect())
}

async function waitFor(what: string, ask: () => Promise<boolean>): Promise<void> {
  const found = await until(async () => ((await ask()) ? true : undefined), readyTimeoutMs, { everyMs: 20 })
  if (!found) throw new Error(`In vain waited for: ${what}`)
}

const ownDir = async (dataDir: string) =>
  join(await realpath(dataDir), `redis-group-${randomBytes(4).toString('hex')}`)

const stopped = async (nodes: RedisNode[]) => void (await Promise.all(nodes.map((node) => node.kill())))
