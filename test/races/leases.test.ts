import { beforeEach, expect, test } from 'bun:test'
import { Redis } from 'ioredis'
import { Leases } from '../../src/lock/leases.ts'
import { readConfig } from '../../src/config.ts'
import { newId } from '../../src/ids.ts'
import { openLog } from '../../src/log.ts'
import { openRedis, openSubscriber } from '../../src/redis/connections.ts'
import { freshRedis } from '../support/redis.ts'
import { eventually } from './pair.ts'
import { openSilentLine } from './silent-line.ts'
import { forFile } from '../support/service.ts'

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

/** A process's leases: they last `leaseTtlMs` and are given up at once when somebody waits. */
async function leasesOf({
  leaseTtlMs = 60_000,
  leaseLingerMs = 60_000,
  writeTimeoutMs = 240_000,
  url = server.url,
} = {}): Promise<Leases> {
  const [commands, subscriber] = [openRedis(url, log), openSubscriber(url, log)]
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

test('a lease is taken, lingers after use, and is given back at the end', async () => {
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

test('a lease that rested long enough is let go', async () => {
  const [leases, project] = [await leasesOf({ leaseTtlMs: 400, leaseLingerMs: 0 }), newId()]
  await leases.acquire(project)
  leases.markIdle(project)
  await eventually('the release', async () => (await holderOf(project)) === null)
})

test('a resting holder hands over as soon as another process asks', async () => {
  const [first, second, project] = [await leasesOf(), await leasesOf(), newId()]
  await first.acquire(project)
  const holder = await holderOf(project)
  first.markIdle(project)
  await second.acquire(project)
  expect(await holderOf(project)).not.toBe(holder)
})

test('a busy holder hands over at its next turn, and gets the lease back at its next but one', async () => {
  const [first, second, project] = [await leasesOf(), await leasesOf(), newId()]
  await first.acquire(project)
  const one = await holderOf(project)
  const granted = second.acquire(project)
  const queued = async () => (await redis.llen(`${prefix}:lease-queue:${project}`)) === 1
  await eventually('the second in the queue', queued)
  expect(await holderOf(project)).toBe(one)
  const again = first.acquire(project)
  await granted
  expect(await holderOf(project)).not.toBe(one)
  second.markIdle(project)
  await again
  expect(await holderOf(project)).toBe(one)
})

test('a lease whose holder is gone without a word is taken when it ends', async () => {
  const [leases, project] = [await leasesOf({ leaseTtlMs: 400 }), newId()]
  await redis.set(`${prefix}:lease:${project}`, 'somebody gone', 'PX', 400)
  await leases.acquire(project)
  expect(await holderOf(project)).not.toBe('somebody gone')
})

test('who may not wait as long as a lease lasts goes on without it', async () => {
  const [leases, project] = [await leasesOf({ writeTimeoutMs: 400 }), newId()]
  await redis.set(`${prefix}:lease:${project}`, 'somebody gone', 'PX', 60_000)
  expect(await leases.acquire(project)).toBe(true)
  expect(await holderOf(project)).toBe('somebody gone')
})

test('a lease that is handed to a process which no longer waits is given back', async () => {
  const [first, second, project] = [await leasesOf(), await leasesOf({ writeTimeoutMs: 400 }), newId()]
  await first.acquire(project)
  expect(await second.acquire(project)).toBe(true) // goes on without it, and still stands in the queue
  first.markIdle(project)
  await eventually('the release', async () => (await holderOf(project)) === null)
})

test('a lease in use is renewed beyond its first life', async () => {
  const [leases, project] = [await leasesOf({ leaseTtlMs: 400 }), newId()]
  await leases.acquire(project)
  const [holder, key] = [await holderOf(project), `${prefix}:lease:${project}`]
  await redis.pexpire(key, 150)
  await eventually('the renewal', async () => (await redis.pttl(key)) > 200)
  expect(await holderOf(project)).toBe(holder)
  await redis.set(key, 'the successor')
  await eventually('the loss', () => leases.size === 0)
})

test('a process that is handed a lease is told that another one waits', async () => {
  const [first, second, third] = [await leasesOf(), await leasesOf(), await leasesOf()]
  const project = newId()
  const queued = async () => redis.llen(`${prefix}:lease-queue:${project}`)
  await first.acquire(project)
  const granted = second.acquire(project)
  await eventually('the second in the queue', async () => (await queued()) === 1)
  const last = third.acquire(project)
  await eventually('the third in the queue', async () => (await queued()) === 2)
  first.markIdle(project)
  await granted
  await eventually('the wish of the third', () => !second.holds(project))
  second.markIdle(project)
  await last
  expect(third.holds(project)).toBe(true)
})

test("giving back what meanwhile is another's leaves it alone", async () => {
  const [leases, project] = [await leasesOf(), newId()]
  await leases.acquire(project)
  await redis.set(`${prefix}:lease:${project}`, 'the successor')
  await leases.close()
  expect(await holderOf(project)).toBe('the successor')
})

test('a queued process that no longer listens is passed over', async () => {
  const [first, project] = [await leasesOf(), newId()]
  await first.acquire(project)
  await redis.rpush(`${prefix}:lease-queue:${project}`, 'long gone')
  await first.close()
  expect(await holderOf(project)).toBeNull()
})

test('without Redis everybody goes on, and with it leases are leases again', async () => {
  const [first, second, project] = [await leasesOf({ leaseTtlMs: 400 }), await leasesOf(), newId()]
  await server.stop()
  await Promise.all([first.acquire(project), second.acquire(project)])
  await eventually('the end of what nobody renews', () => !first.holds(project))
  first.markIdle(project)
  second.markIdle(project)
  await server.restart()
  await eventually('a lease', async () => {
    await first.acquire(project)
    first.markIdle(project)
    return (await holderOf(project)) !== null
  })
})

test('a process whose lines to Redis went silent without a word hears again what others want', async () => {
  const line = await openSilentLine(server.url)
  const project = newId()
  const first = await leasesOf({ leaseTtlMs: 8_000, url: line.url })
  const second = await leasesOf({ leaseTtlMs: 8_000 })
  line.silenceOpen()
  // Redis does not know yet that its old line is dead: both stand there.
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
