import { expect, test } from 'bun:test'
import { eventually, upTo } from '../races/pair.ts'
import { Circle, entryOf } from './member-group.ts'

const circle = new Circle()

test('Redis emptied again and again leaves every home where it is', async () => {
  const before = await circle.settle()
  for (const _ of upTo(4)) {
    await circle.command('FLUSHALL')
    await circle.unmoved(before, 2)
  }
  await circle.unmoved(before)
})

test('who is new and the first to beat in an empty Redis keeps nothing', async () => {
  const before = await circle.settle()
  // What it would leave there.
  const script = `redis.call('flushall') redis.call('zadd', KEYS[1], ARGV[1], ARGV[2]) redis.call('set', KEYS[2], ARGV[3])`
  const left = [String(Date.now()), entryOf('new'), `1 ${JSON.stringify(upTo(5).map(() => 'new'))}`]
  await circle.command('EVAL', script, '2', circle.living(), circle.assignment(), ...left)
  expect(await circle.join('new')).toEqual(before)
  await circle.unmoved(before)
})

test('a Redis that lost its last writes is told them again', async () => {
  await circle.settle()
  const old = (await circle.command('GET', circle.assignment())) as string
  const after = await circle.leave('r')
  // It would have what r had, if that were placed again.
  expect(await circle.join('new')).toEqual(after)
  await circle.command('SET', circle.assignment(), old)
  await eventually('the newer one', async () => (await circle.command('GET', circle.assignment())) !== old)
  await circle.unmoved(after)
})

test('while Redis is away the homes known are used on, and stay when it comes back, kept or empty', async () => {
  const before = await circle.settle()
  for (const isEmptied of [false, true]) {
    circle.redis.kill()
    await circle.unmoved(before)
    await circle.redis.restart()
    if (isEmptied) await circle.command('FLUSHALL')
    await circle.unmoved(before)
  }
})

test('Redis frozen for longer than a process may be silent costs nobody a shard', async () => {
  const before = await circle.settle()
  circle.redis.freeze()
  await circle.unmoved(before)
  process.kill(circle.redis.pid, 'SIGCONT')
  await circle.unmoved(before)
})

test('who dies or comes while Redis is away is replaced or let in when it is back', async () => {
  const before = await circle.settle()
  circle.redis.kill()
  const dead = circle.members.shift()!
  dead.close()
  await Bun.sleep(1_500) // so long that nobody is taken for silent who finds the way back later than others
  const joining = circle.join('late')
  await circle.redis.restart()
  const after = await joining
  for (const [shard, home] of before.entries()) if (home !== dead.id) expect(after[shard]).toBe(home)
})

test('a Redis whose clock was set, forward or back, makes nobody silent', async () => {
  const before = await circle.settle()
  for (const ms of [-3_600_000, 3_600_000]) {
    const times = (await circle.command('ZRANGE', circle.living(), '0', '-1', 'WITHSCORES')) as [
      string,
      number,
    ][]
    // All at once, as it is with a clock: nobody beats in between.
    await circle.command(
      'ZADD',
      circle.living(),
      ...times.flatMap(([member, score]) => [String(score + ms), member]),
    )
    await circle.unmoved(before)
  }
})
