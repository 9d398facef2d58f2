import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deleteAndPurge, eventually, make, makeProjects, openPair, spawnService, startPair } from '../kit.ts'
import { upTo } from '../kit.ts'
import type { Pair, ServiceProcess } from '../kit.ts'
import { openRedisCluster, openRedisSentinels, type RedisGroup } from '../support/redis-group.ts'
import { cert } from '../support/tls-proxy.ts'
import { expectAllStored, startLoad } from './load.ts'

/** A lease lasts longer than the timeout of a write, so a write at the other process needs a handover. */
const byLeases = { LEASE_TTL_MS: '60000', LEASE_LINGER_MS: '60000', WRITE_SHARDS: '0' }

const groups = [openRedisSentinels, openRedisCluster].flatMap((openGroup) =>
  [false, true].map((isSecured) => ({ openGroup, isSecured })),
)
const authority = join(process.env.TEST_DATA_DIR!, 'redis-authority')
beforeAll(() => writeFile(authority, cert))

for (const { openGroup, isSecured } of groups) {
  const kind = openGroup === openRedisCluster ? 'a cluster' : 'sentinels'
  describe(`Redis with ${kind}${isSecured ? ', all with TLS and a password' : ''}`, () => {
    let group: RedisGroup
    let pair: Pair
    let worker: ServiceProcess
    const withAuthority = { NODE_EXTRA_CA_CERTS: authority }
    beforeAll(async () => {
      group = await openGroup(process.env.TEST_DATA_DIR!, isSecured)
      pair = await startPair({ ...withAuthority, REDIS_URL: group.url })
      worker = await spawnService('worker', pair.env)
    })
    afterAll(async () => {
      await Promise.all([pair.close(), worker.stop('SIGKILL')])
      await group.stop()
    })

    const stateOfRedis = async ({ url }: ServiceProcess) =>
      ((await (await fetch(`${url}/health/ready`)).json()) as { redis: string }).redis
    const untilRedisIsAvailable = async ({ a, b }: Pair) => {
      for (const one of [a, b])
        await eventually('Redis to be available', async () => (await stateOfRedis(one)) === 'ok')
    }
    const onAllNodes = async (...command: string[]) =>
      (await Promise.all(group.nodes.map(({ command: ask }) => ask(...command).catch(() => ''))))
        .flat()
        .map(String)
    const hasKey = async (pattern: string) => (await onAllNodes('KEYS', pattern)).length > 0

    const jobsAreDone = async () => {
      const { id } = await make(pair.atA, '/projects', { name: 'Passing' })
      await deleteAndPurge(pair.atA, pair.sql, id)
    }

    test('stores the membership, rate limits, leases and jobs, and delivers notifications', async () => {
      const liveProcesses = () => onAllNodes('ZCARD', `${pair.env.REDIS_PREFIX}:{homes-2}:living`)
      await eventually('two homes', async () => (await liveProcesses()).includes('2'))
      const { id } = await make(pair.atA, '/projects', { name: 'Followed' })
      await make(pair.atB, '/tasks', { projectId: id, title: 'First' })
      await eventually('stored leases, limits and jobs', async () => {
        return (await hasKey('*:lease:*')) && (await hasKey('*:limit:*')) && (await hasKey('*-jobs*'))
      })
      const held = pair.atB.get(`/projects/${id}/events?after=2&wait=20`)
      const subscriberCount = async () => {
        const counts = await onAllNodes('PUBSUB', 'NUMSUB', `${pair.env.REDIS_PREFIX}:versions`)
        return counts.filter((count) => /^\d+$/.test(count)).reduce((sum, count) => sum + Number(count), 0)
      }
      const tooEarly = held.then(({ status, text }) => Promise.reject(new Error(`${status} ${text}`)))
      const subscribed = eventually(
        'the subscriptions of the worker and the request',
        async () => (await subscriberCount()) === 2,
      )
      await Promise.race([subscribed, tooEarly])
      await make(pair.atA, '/tasks', { projectId: id, title: 'Second' })
      expect((await held).body).toHaveLength(1)
      await jobsAreDone()
    })

    test('processes hand leases over', async () => {
      const settings = { ...withAuthority, REDIS_URL: group.url, REDIS_TIMEOUT_MS: '30000', ...byLeases }
      const other = await openPair(settings)
      await untilRedisIsAvailable(other)
      const { id } = await make(other.atA, '/projects', { name: 'Shared' })
      for (const n of upTo(5))
        for (const user of [other.atA, other.atB]) {
          await make(user, '/tasks', { title: `Task ${n}`, projectId: id })
          expect(await hasKey(`${other.env.REDIS_PREFIX}:lease:*${id}*`)).toBe(true)
        }
      const { body } = await other.atB.get(`/tasks?projectId=${id}`)
      expect(body.map(({ number }) => number)).toEqual(upTo(10))
    })

    if (isSecured)
      test('a process without the certificate authority or the password cannot connect', async () => {
        for (const wrong of [{}, { ...withAuthority, REDIS_URL: group.url.replace(/:\w+@/, '@') }]) {
          const other = await spawnService('web', { ...pair.env, NODE_EXTRA_CA_CERTS: '', ...wrong })
          await make(pair.atA.at(other.url), '/projects', { name: 'Without Redis' })
          expect(await stateOfRedis(other)).toBe('away')
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
      await untilRedisIsAvailable(pair)
      await onAllNodes('FLUSHALL')
      await eventually('stored leases', async () => {
        await make(pair.atA, '/projects', { name: 'Later' })
        return hasKey('*:lease:*')
      })
      await jobsAreDone()
    })
  })
}
