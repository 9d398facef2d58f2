import { join } from 'node:path'
import { until } from '../../src/local/server.ts'
import { newServerFolder, openRedisNode, redisPassword, type RedisNode } from './redis.ts'

const readyTimeoutMs = 40_000
export const masterName = 'main'

export interface RedisGroup {
  url: string
  nodes: RedisNode[]
  /** Returns the master; in a cluster, one of the masters. */
  master(): Promise<RedisNode>
  stop(): Promise<void>
}

/** Starts a cluster of three masters, each with a third of the hash slots. */
export async function openRedisCluster(dataDir?: string, isSecured = false): Promise<RedisGroup> {
  const dir = await newServerFolder('redis-cluster', dataDir)
  const settings = { 'cluster-enabled': 'yes', 'cluster-node-timeout': '1000' }
  const open = (n: number) => openRedisNode(join(dir, `${n}`), { settings, isSecured })
  const nodes = await Promise.all([0, 1, 2].map(open))
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
  const url = urlOf('cluster', isSecured, nodes)
  return { url, nodes, master: async () => nodes[0]!, stop: () => stopAll(nodes) }
}

/** Starts a master, a replica and three sentinels. */
export async function openRedisSentinels(dataDir?: string, isSecured = false): Promise<RedisGroup> {
  const dir = await newServerFolder('redis-sentinels', dataDir)
  const first = await openRedisNode(join(dir, 'a'), { isSecured })
  const settings = { replicaof: `127.0.0.1 ${first.port}` }
  const second = await openRedisNode(join(dir, 'b'), { settings, isSecured })
  await waitFor('The replica', async () => /master_link_status:up/.test(String(await second.command('INFO'))))
  const open = (n: number) =>
    openSentinel(join(dir, `sentinel-${n}`), first.port, { quorum: 2, downMs: 500 }, isSecured)
  const sentinels = await Promise.all([0, 1, 2].map(open))
  const areConnected = async () => {
    const infos = await Promise.all(sentinels.map((one) => one.command('SENTINEL', 'MASTER', masterName)))
    return infos.every((info) => /num-slaves,1,.*num-other-sentinels,2,/.test(String(info)))
  }
  await waitFor('The sentinels', areConnected)
  const nodes = [first, second]
  const isMaster = async ({ command }: RedisNode) =>
    String(await command('ROLE').catch(() => '')).startsWith('master')
  return {
    url: `${urlOf('sentinel', isSecured, sentinels)}/${masterName}`,
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
  const sentinel = [
    `sentinel monitor ${masterName} 127.0.0.1 ${port} ${quorum}`,
    `sentinel down-after-milliseconds ${masterName} ${downMs}`,
    `sentinel failover-timeout ${masterName} 3000`,
    `bind 127.0.0.1`,
    ...(isSecured ? [`sentinel auth-pass ${masterName} ${redisPassword}`] : []),
  ]
  return openRedisNode(dir, { sentinel, isSecured })
}

const urlOf = (kind: string, isSecured: boolean, nodes: RedisNode[]) =>
  (isSecured ? `rediss+${kind}://:${redisPassword}@` : `redis+${kind}://`) +
  nodes.map(({ port }) => `127.0.0.1:${port}`).join()

async function waitFor(what: string, isReady: () => Promise<boolean>): Promise<void> {
  const ready = async () => ((await isReady()) ? true : undefined)
  if (!(await until(ready, readyTimeoutMs, { everyMs: 20 }))) throw new Error(`${what} did not get ready`)
}

const stopAll = async (nodes: RedisNode[]) => void (await Promise.all(nodes.map(({ kill }) => kill())))
