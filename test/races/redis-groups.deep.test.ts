import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deleteAndPurge, eventually, make, makeProjects, openPair, spawnService, startPair } from '../kit.ts'
import { upTo } from '../kit.ts'
import type { Pair, ServiceProcess } from '../kit.ts'
import { readiness } from '../processes/launch.ts'
import { openRedisCluster, openRedisSentinels, type RedisGroup } from '../support/redis-group.ts'
import { cert } from '../support/tls-proxy.ts'
import { expectAllStored, startLoad } from './load.ts'

/** A lease lasts longer than the timeout of a write, so a write at the other process needs a handover. */
const byLeases = { LEASE_TTL_MS: '60000', LEASE_LINGER_MS: '60000', WRITE_SHARDS: '0' }
const dataDir = process.env.TEST_DATA_DIR!
const authority = join(dataDir, 'redis-authority')
const withAuthority = { NODE_EXTRA_CA_CERTS: authority }
beforeAll(() => writeFile(authority, cert))

const groups = Object.entries({ sentinels: openRedisSentinels, 'a cluster': openRedisCluster })
describe.each(
  groups.flatMap(([kind, open]) => [false, true].map((isSecured) => ({ kind, isSecured, open }))),
)('Redis with $kind; TLS and a password: $isSecured', ({ open, isSecured }) => {
  let group: RedisGroup
  let pair: Pair
  let worker: ServiceProcess
  beforeAll(async () => {
    group = await open(dataDir, isSecured)
    pair = await startPair({ ...withAuthority, REDIS_URL: group.url })
    worker = await spawnService('worker', pair.env)
  })
  afterAll(async () => {
    await Promise.all([pair.close(), worker.stop('SIGKILL')])
    await group.stop()
  })

  const untilAvailable = async ({ a, b }: Pair) => {
    for (const { url } of [a, b])
      await eventually('Redis to be available', async () => (await readiness(url)).body.redis === 'ok')
  }
  const onAllNodes = (...command: string[]) =>
    Promise.all(group.nodes.map((node) => node.command(...command).catch(() => '')))
  const jobsAreDone = async () => {
    const { id } = await make(pair.atA, '/projects', { name: 'Passing' })
    await deleteAndPurge(pair.atA, pair.sql, id)
  }

  test('delivers notifications to other processes, and jobs to the worker', async () => {
    await untilAvailable(pair)
    const { id } = await make(pair.atA, '/projects', { name: 'Followed' })
    const held = pair.atB.get(`/projects/${id}/events?after=1&wait=20`)
    const subscribers = async () => {
      const counts = await onAllNodes('PUBSUB', 'NUMSUB', `${pair.env.REDIS_PREFIX}:versions`)
      return counts.flat().reduce<number>((sum, count) => sum + (Number(count) || 0), 0)
    }
    const tooEarly = held.then(({ status, text }) => Promise.reject(new Error(`${status} ${text}`)))
    // Both web processes and the worker.
    await Promise.race([eventually('three subscribers', async () => (await subscribers()) === 3), tooEarly])
    await make(pair.atA, '/tasks', { projectId: id, title: 'First' })
    expect((await held).body).toHaveLength(1)
    await jobsAreDone()
  })

  test('processes hand leases over', async () => {
    const settings = { ...withAuthority, REDIS_URL: group.url, REDIS_TIMEOUT_MS: '30000', ...byLeases }
    const other = await openPair(settings)
    await untilAvailable(other)
    const { id } = await make(other.atA, '/projects', { name: 'Shared' })
    for (const n of upTo(5))
      for (const user of [other.atA, other.atB])
        await make(user, '/tasks', { title: `Task ${n}`, projectId: id })
    const leases = await onAllNodes('KEYS', `${other.env.REDIS_PREFIX}:lease:*${id}*`)
    expect(leases.flat().filter(Boolean)).not.toBeEmpty()
    const { body } = await other.atB.get(`/tasks?projectId=${id}`)
    expect(body.map(({ number }) => number)).toEqual(upTo(10))
  })

  if (isSecured)
    test('without the certificate authority or the password, Redis is not available', async () => {
      const withoutPassword = { ...withAuthority, REDIS_URL: group.url.replace(/:\w+@/, '@') }
      for (const wrong of [{ NODE_EXTRA_CA_CERTS: '' }, withoutPassword]) {
        const other = await spawnService('web', { ...pair.env, ...wrong })
        await make(pair.atA.at(other.url), '/projects', { name: 'Without Redis' })
        expect((await readiness(other.url)).body.redis).toBe('away')
        await other.stop('SIGKILL')
      }
    })

  test('when the Redis master is killed under load, no request fails and no process has to restart', async () => {
    const projectIds = await makeProjects(pair.atA, 4)
    const load = startLoad({ clients: [pair.atA, pair.atB], projectIds })
    await load.acknowledged(100)
    const master = await group.master()
    await master.kill()
    await load.acknowledged(100)
    await master.start()
    await load.acknowledged(100)
    await expectAllStored(pair.sql, load, [])
    await untilAvailable(pair)
    await jobsAreDone()
  })
})
