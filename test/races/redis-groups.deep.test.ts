import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually, forFile, make, newFolder, openLog, openPair, openRedis } from '../kit.ts'
import { type Pair, readConfig, spawnService, upTo } from '../kit.ts'
import { readiness } from '../processes/launch.ts'
import { openRedisCluster, openRedisSentinels, type RedisGroup } from '../support/redis-group.ts'
import { cert } from '../support/tls-proxy.ts'
import { errorsAt, timeoutMs } from './histories.ts'

const folder = await newFolder()
const authority = join(folder, 'authority')
await writeFile(authority, cert)
const trusting = (url: string) => `${url}?sslrootcert=${authority}`
/** A lease lasts longer than the timeout of a write, so a write at the other process needs a handover. */
const byLeases = { LEASE_TTL_MS: '60000', LEASE_LINGER_MS: '60000', WRITE_SHARDS: '0' }

async function expectNotified({ nodes }: RedisGroup, { atA, atB, env }: Pair): Promise<void> {
  const { id } = await make(atA, '/projects', { name: 'Followed' })
  const held = atB.get(`/projects/${id}/events?after=1&wait=20`)
  await eventually('two subscribers', async () => {
    const names = ['PUBSUB', 'NUMSUB', `${env.REDIS_PREFIX}:versions-2`]
    const counts = await Promise.all(nodes.map((node) => node.command(...names).catch(() => '')))
    return counts.flat().reduce<number>((sum, count) => sum + (Number(count) || 0), 0) === 2
  })
  await make(atA, '/tasks', { projectId: id, title: 'First' })
  expect((await held).body).toHaveLength(1)
}

async function expectHandover({ nodes }: RedisGroup, { atA, atB, env }: Pair): Promise<void> {
  const { id } = await make(atA, '/projects', { name: 'Shared' })
  for (const n of upTo(5))
    for (const user of [atA, atB]) await make(user, '/tasks', { title: `Task ${n}`, projectId: id })
  const keys = nodes.map((node) => node.command('KEYS', `${env.REDIS_PREFIX}:lease:*${id}*`).catch(() => []))
  expect((await Promise.all(keys)).flat()).not.toBeEmpty()
  const { body } = await atB.get(`/tasks?projectId=${id}`)
  expect(body.map(({ number }) => number)).toEqual(upTo(10))
}

test.each([
  ['sentinels', openRedisSentinels],
  ['a cluster', openRedisCluster],
])(
  'with %s, TLS and a password, processes notify each other and hand leases over; a killed master fails no request',
  async (_, open) => {
    const group = await forFile(open(folder, true))
    const REDIS_URL = trusting(group.url)
    const pair = await openPair({ REDIS_URL, REDIS_TIMEOUT_MS: '30000', ...byLeases })
    for (const { url } of [pair.a, pair.b])
      await eventually('Redis to be available', async () => (await readiness(url)).body.redis === 'ok')
    await expectNotified(group, pair)
    await expectHandover(group, pair)
    // Without verification of the certificate.
    const unverified = openRedis(readConfig({ REDIS_URL: `${group.url}?sslmode=require` }), openLog('silent'))
    await eventually('a connection', () => unverified.status === 'ready')
    unverified.disconnect()
    for (const wrong of [group.url, trusting(group.url.replace(/:\w+@/, '@'))]) {
      const other = await spawnService('web', { ...pair.env, REDIS_URL: wrong })
      await make(pair.atA.at(other.url), '/projects', { name: 'Without Redis' })
      expect((await readiness(other.url)).body.redis).toBe('away')
      await other.stop('SIGKILL')
    }
    const restartMaster = async () => {
      const master = await group.master()
      await master.kill()
      await Bun.sleep(1_000)
      await master.start()
    }
    expect(await errorsAt([{}, {}], { REDIS_URL }, restartMaster)).toEqual([])
  },
  timeoutMs,
)
