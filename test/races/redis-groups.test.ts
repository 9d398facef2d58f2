import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { make } from '../support/client.ts'
import { openRedisCluster, openRedisSentinels, type RedisGroup } from '../support/redis-group.ts'
import { type ServiceProcess, spawnService } from '../support/service.ts'
import { eventually, openPair, type Pair, upTo } from './pair.ts'
import { unnoticedBy } from './unnoticed.ts'

/** A lease that is not handed over is not to be had in the time that a write may take. */
const byLeases = { LEASE_TTL_MS: '60000', LEASE_LINGER_MS: '60000', WRITE_HOMES: '0' }

for (const [kind, open] of Object.entries({ sentinels: openRedisSentinels, 'a cluster': openRedisCluster })) {
  describe(`Redis with ${kind}`, () => {
    let group: RedisGroup
    let pair: Pair
    let worker: ServiceProcess
    beforeAll(async () => {
      group = await open()
      pair = await openPair({ REDIS_URL: group.url })
      worker = await spawnService('worker', pair.env)
    })
    afterAll(async () => {
      await Promise.all([pair.close(), worker.stop('SIGKILL')])
      await group.stop()
    })

    const isReady = async ({ url }: ServiceProcess) => {
      const { redis } = (await (await fetch(`${url}/health/ready`)).json()) as { redis: string }
      return redis === 'ok'
    }
    const everywhere = async (...command: string[]) =>
      (await Promise.all(group.nodes.map(({ ask }) => ask(...command).catch(() => '')))).flat().map(String)
    const has = async (pattern: string) => (await everywhere('KEYS', pattern)).length > 0

    /** A deleted project goes when BullMQ has told a worker. */
    const jobsAreDone = async () => {
      const { id } = await make(pair.atA, '/projects', { name: 'Passing' })
      await pair.atA.delete(`/projects/${id}`)
      const streams = () => pair.sql`select from streams where project_id = ${id}`
      await eventually('the end of the project', async () => (await streams()).length === 0)
    }

    test('has the directory of homes, the limits, the hints and the jobs', async () => {
      const living = () => everywhere('ZCARD', `${pair.env.REDIS_PREFIX}:{homes}:living`)
      await eventually('two homes', async () => (await living()).includes('2'))
      const { id } = await make(pair.atA, '/projects', { name: 'Followed' })
      await make(pair.atB, '/tasks', { projectId: id, title: 'First' })
      await eventually('leases, limits and jobs', async () => {
        return (await has('*:lease:*')) && (await has('*:limit:*')) && (await has('*-jobs*'))
      })
      const held = pair.atB.get(`/projects/${id}/events?after=2&wait=20`)
      const heard = () => everywhere('PUBSUB', 'NUMSUB', `${pair.env.REDIS_PREFIX}:versions`)
      await eventually('who hears hints', async () => (await heard()).some((count) => count === '1'))
      await make(pair.atA, '/tasks', { projectId: id, title: 'Second' })
      expect((await held).body).toHaveLength(1)
      await jobsAreDone()
    })

    test('hands leases over', async () => {
      const other = await openPair({ REDIS_URL: group.url, ...byLeases })
      try {
        const { id } = await make(other.atA, '/projects', { name: 'Shared' })
        for (const n of upTo(5))
          for (const who of [other.atA, other.atB]) {
            await make(who, '/tasks', { title: `Task ${n}`, projectId: id })
            expect(await has(`${other.env.REDIS_PREFIX}:lease:*${id}*`)).toBe(true)
          }
        const { body } = await other.atB.get(`/tasks?projectId=${id}`)
        expect(body.map(({ number }) => number)).toEqual(upTo(10))
      } finally {
        await other.close()
      }
    })

    test('may lose a master in mid-load, and is back without a restart', async () => {
      await unnoticedBy(pair, async (load) => {
        const master = await group.master()
        await master.kill()
        await load.acknowledged(100)
        await master.start()
        await load.acknowledged(100)
      })
      for (const one of [pair.a, pair.b]) await eventually('Redis', () => isReady(one))
      await everywhere('FLUSHALL')
      await eventually('leases', async () => {
        await make(pair.atA, '/projects', { name: 'Later' })
        return has('*:lease:*')
      })
      await jobsAreDone()
    })
  })
}
