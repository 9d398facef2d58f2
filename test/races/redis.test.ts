import { test } from 'bun:test'
import { freshRedis } from '../support/redis.ts'
import type { Load } from './load.ts'
import { openPair, upTo } from './pair.ts'
import { unnoticedBy } from './load.ts'
import { forFile } from '../support/service.ts'

const redis = await forFile(freshRedis())
const pair = await forFile(openPair({ REDIS_URL: redis.url }))

const command = async (...words: string[]) => {
  const client = new Bun.RedisClient(redis.url)
  await client.send(words[0]!, words.slice(1))
  client.close()
}

const unnoticed = (trouble: (load: Load) => Promise<void>) => unnoticedBy(pair, trouble)

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
