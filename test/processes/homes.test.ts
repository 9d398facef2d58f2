import { busyMs, openBusyCheck } from '../../src/process/busy-home.ts'
import type { Peer } from '../../src/routing/rpc.ts'
import { ownMachine, unreachableHost } from '../../src/routing/own-address.ts'
import type { Log } from '../../src/logger.ts'
import { eventually, openTestService } from '../kit.ts'

const minute = 60_000

/** Returns the warnings after minutes in which the event loop was busy for the given percentages. */
function warningsAfter(percents: number[], isHome = true): [afterMinutes: number, busyPercent: number][] {
  const warnings: [number, number][] = []
  let time = 0
  let busy = 0
  const warn = ({ busyPercent }: { busyPercent: number }, message: string) => {
    expect(message).toContain('set a higher WRITE_SHARDS')
    warnings.push([time / minute, busyPercent])
  }
  const check = openBusyCheck({
    isHome: () => isHome,
    log: { warn } as unknown as Log,
    now: () => time,
    readBusyMs: () => busy,
  })
  for (const percent of percents) {
    time += minute
    busy += (percent / 100) * minute
    check()
  }
  return warnings
}

const repeated = (percent: number, minutes: number) => Array.from({ length: minutes }, () => percent)

test('a home whose event loop was busy for more than 80 % of a minute warns, at most once an hour', () => {
  expect(warningsAfter([79, 80, 81, 100])).toEqual([[3, 81]])
  expect(warningsAfter(repeated(90, 121))).toEqual([
    [1, 90],
    [61, 90],
    [121, 90],
  ])
  expect(warningsAfter([95, ...repeated(10, 70), 99])).toEqual([
    [1, 95],
    [72, 99],
  ])
})

test('a busy process that is no home does not warn', () => {
  expect(warningsAfter(repeated(100, 3), false)).toEqual([])
})

test('the time of a busy event loop counts', () => {
  const before = busyMs()
  const end = performance.now() + 300
  while (performance.now() < end);
  expect(busyMs() - before).toBeGreaterThan(100)
})

const peer = (host: string, machine = ownMachine()): Peer => ({ id: 'b', host, port: 4000, machine })

test('a process at loopback is unreachable for a process that has another machine or a network address', () => {
  const isUnreachable = (...hosts: [own: string, ...others: Peer[]]) =>
    unreachableHost(peer(hosts[0]), hosts.slice(1) as Peer[]) !== undefined
  for (const own of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) {
    expect([own, isUnreachable(own, peer('10.0.0.7'))]).toEqual([own, true])
    expect([own, isUnreachable(own, peer('127.0.0.1'), peer('127.0.0.1', 'other'))]).toEqual([own, true])
    expect([own, isUnreachable(own, peer('127.0.0.1'))]).toEqual([own, false])
    // The previous release does not announce its machine.
    expect([own, isUnreachable(own, { id: 'b', host: '::1', port: 4000 })]).toEqual([own, false])
  }
  for (const own of ['10.0.0.8', 'web-1', 'fd00::2'])
    expect([own, isUnreachable(own, peer('127.0.0.1', 'other'), peer('10.0.0.7'))]).toEqual([own, false])
})

test('a process at loopback is not ready while a process of another machine is alive, and says what to set', async () => {
  await using service = await openTestService()
  const { redis, config } = service.services
  const ready = async () => {
    const response = await service.fetch('/health/ready')
    return { status: response.status, body: (await response.json()) as Record<string, string> }
  }
  await service.services.join(true)
  expect(await ready()).toEqual({ status: 200, body: { status: 'ok', postgres: 'ok', redis: 'ok' } })
  const key = `${config.redisPrefix}:{homes-2}:living`
  const other = JSON.stringify(peer('127.0.0.1', 'another machine'))
  await redis.zadd(key, Date.now(), other)
  await eventually('the process to become unready', async () => (await ready()).status === 503)
  expect((await ready()).body).toMatchObject({
    status: 'unready',
    problem: expect.stringContaining('set HOME_HOST'),
  })
  await redis.zrem(key, other)
  await eventually('the process to become ready again', async () => (await ready()).status === 200)
})
