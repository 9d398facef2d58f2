import { Redis } from 'ioredis'
import { Leases } from '../../src/lock/leases.ts'
import { eventually, forFile, freshRedis, newId, openLog, openRedis, openSubscriber } from '../kit.ts'
import { readConfig } from '../kit.ts'
import { openSilentLine } from '../races/silent-line.ts'

const log = openLog('silent')
let prefix: string
let open: (() => Promise<void>)[]
const server = await forFile(freshRedis())
const redis = await forFile(new Redis(server.url))
redis.on('error', () => {})
beforeEach(() => {
  prefix = `leases-${newId()}`
  open = []
  return async () => void (await Promise.all(open.map((close) => close())))
})

/** The leases of one process, which releases a lease after one batch if another process waits. */
async function leasesOf({
  leaseTtlMs = 60_000,
  leaseLingerMs = 60_000,
  writeTimeoutMs = 240_000,
  url = server.url,
} = {}): Promise<Leases> {
  const [commands, subscriber] = [openRedis(readConfig({ REDIS_URL: url }), log), openSubscriber(url, log)]
  const times = { leaseTtlMs, leaseLingerMs, leaseSliceMs: 0, writeTimeoutMs }
  const config = { ...readConfig({}), ...times, redisPrefix: prefix }
  const known = open.length
  const leases = new Leases(commands, subscriber, config)
  open.push(async () => {
    await leases.close()
    commands.disconnect()
    subscriber.disconnect()
  })
  const listens = async () => (await redis.pubsub('CHANNELS', `${prefix}*`)).length > known
  await eventually('the subscription', async () => commands.status === 'ready' && (await listens()))
  return leases
}

const holderOf = (projectId: string) => redis.get(`${prefix}:lease:${projectId}`)

test('a process keeps a lease after using it, and releases it on close', async () => {
  const [leases, project] = [await leasesOf(), newId()]
  await leases.acquire(project)
  const holder = await holderOf(project)
  expect(holder).toBeString()
  leases.markIdle(project)
  await leases.acquire(project)
  expect(await holderOf(project)).toBe(holder)
  await leases.close()
  expect(await holderOf(project)).toBeNull()
})

test('an idle lease is released after LEASE_LINGER_MS, and its process may keep the state if no other had the lease', async () => {
  const [leases, project] = [await leasesOf({ leaseTtlMs: 400, leaseLingerMs: 0 }), newId()]
  expect(await leases.acquire(project)).toBe(true)
  leases.markIdle(project)
  await eventually('the release of the lease', async () => (await holderOf(project)) === null)
  expect(await leases.acquire(project)).toBe(true)
})

test('a process that waited for a lease may not keep its state', async () => {
  const [first, second, project] = [await leasesOf(), await leasesOf(), newId()]
  expect(await first.acquire(project)).toBe(true)
  first.markIdle(project)
  expect(await second.acquire(project)).toBe(false)
  second.markIdle(project)
  expect(await first.acquire(project)).toBe(false)
})

test('an idle holder hands its lease over as soon as another process waits', async () => {
  const [first, second, project] = [await leasesOf(), await leasesOf(), newId()]
  await first.acquire(project)
  const holder = await holderOf(project)
  first.markIdle(project)
  await second.acquire(project)
  expect(await holderOf(project)).not.toBe(holder)
})

test('a busy holder hands its lease over after its batch, and gets it back after one batch of the other process', async () => {
  const [first, second, project] = [await leasesOf(), await leasesOf(), newId()]
  await first.acquire(project)
  const one = await holderOf(project)
  const granted = second.acquire(project)
  const queued = async () => (await redis.llen(`${prefix}:lease-queue:${project}`)) === 1
  await eventually('the second process in the queue', queued)
  expect(await holderOf(project)).toBe(one)
  const again = first.acquire(project)
  await granted
  expect(await holderOf(project)).not.toBe(one)
  second.markIdle(project)
  await again
  expect(await holderOf(project)).toBe(one)
})

test('a lease of a dead holder can be acquired when it expires', async () => {
  const [leases, project] = [await leasesOf({ leaseTtlMs: 400 }), newId()]
  await redis.set(`${prefix}:lease:${project}`, 'dead holder', 'PX', 400)
  await leases.acquire(project)
  expect(await holderOf(project)).not.toBe('dead holder')
})

test('a write whose timeout is shorter than the lease continues without the lease', async () => {
  const [leases, project] = [await leasesOf({ writeTimeoutMs: 400 }), newId()]
  await redis.set(`${prefix}:lease:${project}`, 'dead holder', 'PX', 60_000)
  expect(await leases.acquire(project)).toBe(true)
  expect(await holderOf(project)).toBe('dead holder')
})

test('a lease that is handed to a process that no longer waits is released', async () => {
  const [first, second, project] = [await leasesOf(), await leasesOf({ writeTimeoutMs: 400 }), newId()]
  await first.acquire(project)
  expect(await second.acquire(project)).toBe(true)
  first.markIdle(project)
  await eventually('the release of the lease', async () => (await holderOf(project)) === null)
})

test('a lease in use is renewed before it expires', async () => {
  const [leases, project] = [await leasesOf({ leaseTtlMs: 10_000 }), newId()]
  await leases.acquire(project)
  const [holder, key] = [await holderOf(project), `${prefix}:lease:${project}`]
  await redis.pexpire(key, 5_000)
  await eventually('the renewal of the lease', async () => (await redis.pttl(key)) > 5_500)
  expect(await holderOf(project)).toBe(holder)
  await redis.set(key, 'next holder')
  await eventually('the first process to notice that its lease is lost', () => leases.size === 0)
})

test('a process that receives a lease hands it over after its batch if another process waits', async () => {
  const [first, second, third] = [await leasesOf(), await leasesOf(), await leasesOf()]
  const project = newId()
  const queued = async () => redis.llen(`${prefix}:lease-queue:${project}`)
  await first.acquire(project)
  const granted = second.acquire(project)
  await eventually('the second process in the queue', async () => (await queued()) === 1)
  const last = third.acquire(project)
  await eventually('the third process in the queue', async () => (await queued()) === 2)
  first.markIdle(project)
  await granted
  await eventually('the request of the third process', () => !second.holds(project))
  second.markIdle(project)
  await last
  expect(third.holds(project)).toBe(true)
})

test("releasing an expired lease does not delete the next holder's lease", async () => {
  const [leases, project] = [await leasesOf(), newId()]
  await leases.acquire(project)
  await redis.set(`${prefix}:lease:${project}`, 'next holder')
  await leases.close()
  expect(await holderOf(project)).toBe('next holder')
})

test('a lease is never handed to a queued process that no longer listens', async () => {
  const [first, project] = [await leasesOf(), newId()]
  await first.acquire(project)
  await redis.rpush(`${prefix}:lease-queue:${project}`, 'dead process')
  await first.close()
  expect(await holderOf(project)).toBeNull()
})

test('without Redis every process continues, and leases work again when Redis is back', async () => {
  const [first, second, project] = [await leasesOf({ leaseTtlMs: 400 }), await leasesOf(), newId()]
  await server.stop()
  await Promise.all([first.acquire(project), second.acquire(project)])
  await eventually('the expiry of the lease', () => !first.holds(project))
  first.markIdle(project)
  second.markIdle(project)
  await server.restart()
  await eventually('a lease', async () => {
    await first.acquire(project)
    first.markIdle(project)
    return (await holderOf(project)) !== null
  })
})

test('a process whose Redis connections went silent reconnects and hands leases over again', async () => {
  const line = await openSilentLine(server.url)
  const project = newId()
  const first = await leasesOf({ leaseTtlMs: 8_000, url: line.url })
  const second = await leasesOf({ leaseTtlMs: 8_000 })
  line.silenceOpen()
  // Redis still counts the silent connection as a subscriber.
  const lines = async () => {
    const channels = await redis.pubsub('CHANNELS', `${prefix}*`)
    return ((await redis.pubsub('NUMSUB', ...(channels as string[]))) as number[]).filter((n) => n === 2)
  }
  await eventually('another subscription', async () => (await lines()).length === 1)
  await eventually('a lease', async () => {
    await first.acquire(project)
    first.markIdle(project)
    return (await holderOf(project)) !== null
  })
  const holder = await holderOf(project)
  await second.acquire(project)
  expect(await holderOf(project)).not.toBe(holder)
  line.close()
})
