import { Redis } from 'ioredis'
import { Leases } from '../../src/lock/leases.ts'
import {
  eventually,
  forFile,
  freshRedis,
  newId,
  openForEach,
  openLog,
  openRedis,
  openSubscriber,
} from '../kit.ts'
import { readConfig } from '../kit.ts'
import { openSilentLine } from '../races/silent-line.ts'

const log = openLog('silent')
const forEach = openForEach()
const server = await forFile(freshRedis())
const redis = await forFile(new Redis(server.url))
redis.on('error', () => {})
let [prefix, project, opened] = ['', '', 0]
beforeEach(() => {
  project = newId()
  prefix = `leases-${project}`
  opened = 0
})
const key = () => `${prefix}:lease:${project}`
const holder = () => redis.get(key())
const queueIs = (count: number) =>
  eventually('the queue', async () => (await redis.llen(`${prefix}:lease-queue:${project}`)) === count)
const isReleased = () => eventually('the release of the lease', async () => (await holder()) === null)

/** The leases of one process, which releases a lease after one batch if another process waits. */
async function open(
  { url = server.url, ...times } = {} as { url?: string } & Record<string, number | string>,
) {
  const [commands, subscriber] = [openRedis(readConfig({ REDIS_URL: url }), log), openSubscriber(url, log)]
  const long = { leaseTtlMs: 60_000, leaseLingerMs: 60_000, writeTimeoutMs: 240_000, leaseSliceMs: 0 }
  const leases = new Leases(commands, subscriber, {
    ...readConfig({}),
    ...long,
    ...times,
    redisPrefix: prefix,
  })
  const known = opened++
  await forEach({
    async close() {
      await leases.close()
      for (const one of [commands, subscriber]) one.disconnect()
    },
  })
  const listens = async () => (await redis.pubsub('CHANNELS', `${prefix}*`)).length > known
  await eventually('the subscription', async () => commands.status === 'ready' && (await listens()))
  return {
    acquire: () => leases.acquire(project),
    markIdle: () => leases.markIdle(project),
    holds: () => leases.holds(project),
    close: () => leases.close(),
    size: () => leases.size,
  }
}

test('a process keeps a lease after using it, and releases it on close', async () => {
  const leases = await open()
  await leases.acquire()
  const own = await holder()
  expect(own).toBeString()
  leases.markIdle()
  await leases.acquire()
  expect(await holder()).toBe(own)
  await leases.close()
  expect(await holder()).toBeNull()
})

test('an idle lease is released after LEASE_LINGER_MS, and its process may keep the state if no other had the lease', async () => {
  const leases = await open({ leaseTtlMs: 400, leaseLingerMs: 0 })
  expect(await leases.acquire()).toBe(true)
  leases.markIdle()
  await isReleased()
  expect(await leases.acquire()).toBe(true)
})

test('an idle holder hands its lease over as soon as another process waits; who waited may not keep its state', async () => {
  const [first, second] = [await open(), await open()]
  expect(await first.acquire()).toBe(true)
  first.markIdle()
  expect(await second.acquire()).toBe(false)
  second.markIdle()
  expect(await first.acquire()).toBe(false)
})

test('a busy holder hands its lease over after its batch, and gets it back after one batch of the other process', async () => {
  const [first, second] = [await open(), await open()]
  await first.acquire()
  const one = await holder()
  const granted = second.acquire()
  await queueIs(1)
  expect(await holder()).toBe(one)
  const again = first.acquire()
  await granted
  expect(await holder()).not.toBe(one)
  second.markIdle()
  await again
  expect(await holder()).toBe(one)
})

test('a process that receives a lease hands it over after its batch if another process waits', async () => {
  const [first, second, third] = [await open(), await open(), await open()]
  await first.acquire()
  const granted = second.acquire()
  await queueIs(1)
  const last = third.acquire()
  await queueIs(2)
  first.markIdle()
  await granted
  await eventually('the request of the third process', () => !second.holds())
  second.markIdle()
  await last
  expect(third.holds()).toBe(true)
})

test('a lease is not handed to a process that no longer waits or listens', async () => {
  const [first, second] = [await open(), await open({ writeTimeoutMs: 400 })]
  await first.acquire()
  expect(await second.acquire()).toBe(true)
  first.markIdle()
  await isReleased()
  await first.acquire()
  await redis.rpush(`${prefix}:lease-queue:${project}`, 'dead process')
  await first.close()
  expect(await holder()).toBeNull()
})

test('a lease in use is renewed before it expires; the next holder keeps a lease that was lost', async () => {
  const leases = await open({ leaseTtlMs: 10_000 })
  await leases.acquire()
  const own = await holder()
  await redis.pexpire(key(), 5_000)
  await eventually('the renewal of the lease', async () => (await redis.pttl(key())) > 5_500)
  expect(await holder()).toBe(own)
  await redis.set(key(), 'next holder')
  await eventually('the first process to notice that its lease is lost', () => leases.size() === 0)
  const releasing = await open()
  await redis.del(key())
  await releasing.acquire()
  await redis.set(key(), 'next holder')
  await releasing.close()
  expect(await holder()).toBe('next holder')
})

test('a process whose Redis connections went silent reconnects and hands leases over again', async () => {
  const line = await openSilentLine(server.url)
  const first = await open({ leaseTtlMs: 8_000, url: line.url })
  const second = await open({ leaseTtlMs: 8_000 })
  line.silenceOpen()
  // Redis still counts the silent connection as a subscriber.
  const subscribedTwice = async () => {
    const channels = (await redis.pubsub('CHANNELS', `${prefix}*`)) as string[]
    return ((await redis.pubsub('NUMSUB', ...channels)) as number[]).filter((n) => n === 2)
  }
  await eventually('another subscription', async () => (await subscribedTwice()).length === 1)
  await eventually('a lease', async () => {
    await first.acquire()
    first.markIdle()
    return (await holder()) !== null
  })
  const before = await holder()
  await second.acquire()
  expect(await holder()).not.toBe(before)
  line.close()
})
