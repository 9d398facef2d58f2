import { test } from 'bun:test'
import { freshRedis } from '../support/redis.ts'
import { openPair, upTo } from './pair.ts'
import { expectNoFailures } from './load.ts'
import { forFile } from '../support/service.ts'

const redis = await forFile(freshRedis())
const pair = await forFile(openPair({ REDIS_URL: redis.url }))

const command = async (...words: string[]) => {
  const client = new Bun.RedisClient(redis.url)
  await client.send(words[0]!, words.slice(1))
  client.close()
}

test('no request fails when Redis is flushed repeatedly under load', () =>
  expectNoFailures(pair, async (load) => {
    for (const _ of upTo(10)) {
      await command('FLUSHALL')
      await load.acknowledged(30)
    }
  }))

test('no request fails when Redis connections are closed repeatedly under load', () =>
  expectNoFailures(pair, async (load) => {
    for (const n of upTo(10)) {
      await command('CLIENT', 'KILL', 'TYPE', n % 2 ? 'normal' : 'pubsub')
      await load.acknowledged(30)
    }
  }))

test('no request fails when Redis is killed and restarted under load', () =>
  expectNoFailures(pair, async (load) => {
    for (const _ of upTo(2)) {
      redis.kill()
      await load.acknowledged(100)
      await redis.restart()
      await load.acknowledged(100)
    }
  }))

test('no request fails when Redis is frozen and resumed under load', () =>
  expectNoFailures(pair, async (load) => {
    for (const _ of upTo(2)) {
      process.kill(redis.pid, 'SIGSTOP')
      await load.acknowledged(100)
      process.kill(redis.pid, 'SIGCONT')
      await load.acknowledged(100)
    }
  }))

test('no request fails when Redis is killed under load and does not restart', () =>
  expectNoFailures(pair, async (load) => {
    redis.kill()
    await load.acknowledged(300)
  }))
