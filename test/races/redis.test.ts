import { afterAll, beforeAll, expect, test } from 'bun:test'
import { make } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { freshRedis, type FreshRedis } from '../support/redis.ts'
import { account, type Load, misnumbered, startLoad } from './load.ts'
import { openPair, type Pair, upTo } from './pair.ts'

let redis: FreshRedis
let pair: Pair
beforeAll(async () => {
  redis = await freshRedis()
  pair = await openPair({ REDIS_URL: redis.url })
})
afterAll(async () => {
  await pair.close()
  await redis.stop()
})

const command = async (...words: string[]) => {
  const client = new Bun.RedisClient(redis.url)
  await client.send(words[0]!, words.slice(1))
  client.close()
}

/** Load on both processes while `trouble` happens: nobody may notice, not even by a 503. */
async function unnoticed(trouble: (load: Load) => Promise<void>): Promise<void> {
  const { atA, atB, sql } = pair
  const projects = await Promise.all(upTo(4).map(() => make(atA, '/projects', { name: 'Busy' })))
  // The first is hot: half of all writes go there.
  const projectIds = projects.flatMap(({ id }, i) => (i ? [id, projects[0]!.id] : [id]))
  const load = startLoad({ clients: [atA, atB], projectIds })
  await load.acknowledged(100)
  await trouble(load)
  await load.acknowledged(100)
  await load.stop()
  const { lost, doubled, writes, reads } = await account(sql, load)
  expect({ lost, doubled }).toEqual({ lost: [], doubled: [] })
  expect([...Object.keys(writes), ...Object.keys(reads)]).toEqual(['201', '200'])
  expect(await misnumbered(sql)).toHaveLength(0)
  expect(await faultsOf(sql)).toEqual([])
}

test('Redis flushed again and again in mid-load is not noticed', () =>
  unnoticed(async (load) => {
    for (const _ of upTo(10)) {
      await command('FLUSHALL')
      await load.acknowledged(30)
    }
  }))

test('leases and channels cut off again and again in mid-load are not noticed', () =>
  unnoticed(async (load) => {
    for (const n of upTo(10)) {
      await command('CLIENT', 'KILL', 'TYPE', n % 2 ? 'normal' : 'pubsub')
      await load.acknowledged(30)
    }
  }))

test('Redis killed and restarted in mid-load is not noticed', () =>
  unnoticed(async (load) => {
    for (const _ of upTo(2)) {
      redis.kill()
      await load.acknowledged(100)
      await redis.restart()
      await load.acknowledged(100)
    }
  }))

test('Redis frozen and continued in mid-load is not noticed', () =>
  unnoticed(async (load) => {
    for (const _ of upTo(2)) {
      process.kill(redis.pid, 'SIGSTOP')
      await load.acknowledged(100)
      process.kill(redis.pid, 'SIGCONT')
      await load.acknowledged(100)
    }
  }))

test('Redis gone for good in mid-load is not noticed', () =>
  unnoticed(async (load) => {
    redis.kill()
    await load.acknowledged(300)
  }))
