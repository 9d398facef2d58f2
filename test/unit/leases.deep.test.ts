import { Redis } from 'ioredis'
import { Leases } from '../../src/lock/leases.ts'
import { eventually, forFile, freshRedis, newId, openForEach, openLog, openRedis } from '../kit.ts'
import { openSubscriber, readConfig, readYaml, words } from '../kit.ts'
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
const isReleased = () => eventually('the release of the lease', async () => (await holder()) === null)

/** The leases of one process, which releases a lease after one batch if another process waits. */
async function open(
  { url = server.url, ...times } = {} as { url?: string } & Record<string, number | string>,
) {
  const [commands, subscriber] = [openRedis(readConfig({ REDIS_URL: url }), log), openSubscriber(url, log)]
  const long = { leaseTtlMs: 60_000, leaseLingerMs: 60_000, writeTimeoutMs: 240_000, leaseSliceMs: 0 }
  const config = { ...readConfig({}), ...long, ...times, redisPrefix: prefix }
  const leases = new Leases(commands, subscriber, config)
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

const { turns } = readYaml<{ turns: [what: string, steps: string][] }>('test/unit/queues.yaml')

test.each(turns)('%s', async (_, steps) => {
  const all = { a: await open(), b: await open(), c: await open() }
  const asked: Record<string, Promise<boolean>> = {}
  const ids: Record<string, string | null> = {}
  for (const step of words(steps)) {
    const [name, verb, value] = step.split(':') as ['a', string, string]
    const one = all[name]
    if (verb === 'acquire') expect([step, String(await one.acquire())]).toEqual([step, value])
    if (verb === 'ask') asked[name] = one.acquire()
    if (verb === 'get') await asked[name]
    if (verb === 'acquire' || verb === 'get') ids[name] ??= await holder()
    if (verb === 'idle') one.markIdle()
    if (verb === 'close') await one.close()
    if (verb === 'free') expect(await holder()).toBeNull()
    if (verb === 'holder') expect([step, await holder()]).toEqual([step, ids[name]!])
    if (verb === 'requested') await eventually('the request of another process', () => !one.holds())
    const queued = async () => (await redis.llen(`${prefix}:lease-queue:${project}`)) === Number(value)
    if (verb === 'queue') await eventually('the queue', queued)
  }
  const distinct = Object.values(ids)
  expect(new Set(distinct).size).toBe(distinct.length)
})

test('an idle lease is released after LEASE_LINGER_MS, and its process may keep the state if no other had the lease', async () => {
  const leases = await open({ leaseTtlMs: 400, leaseLingerMs: 0 })
  expect(await leases.acquire()).toBe(true)
  leases.markIdle()
  await isReleased()
  expect(await leases.acquire()).toBe(true)
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
  const leases = await open({ leaseTtlMs: 6_000 })
  await leases.acquire()
  const own = await holder()
  await redis.pexpire(key(), 4_000)
  await eventually('the renewal of the lease', async () => (await redis.pttl(key())) > 4_200)
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

const hasLease = (leases: Awaited<ReturnType<typeof open>>) =>
  eventually('a lease', async () => {
    await leases.acquire()
    leases.markIdle()
    return (await holder()) !== null
  })

test('without Redis every process continues, and leases work again when Redis is back', async () => {
  const [first, second] = [await open({ leaseTtlMs: 400 }), await open()]
  await server.stop()
  await Promise.all([first.acquire(), second.acquire()])
  await eventually('the expiry of the lease', () => !first.holds())
  for (const one of [first, second]) one.markIdle()
  await server.restart()
  await hasLease(first)
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
  await hasLease(first)
  const before = await holder()
  await second.acquire()
  expect(await holder()).not.toBe(before)
  line.close()
})
