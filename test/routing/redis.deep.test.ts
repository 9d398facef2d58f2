import { eventually, upTo } from '../kit.ts'
import { MemberGroup, entryOf } from './member-group.ts'

const group = new MemberGroup()

test('a flushed Redis moves no shard', async () => {
  const before = await group.start()
  for (const _ of upTo(4)) {
    await group.command('FLUSHALL')
    await group.expectStable(before, 2)
  }
  await group.expectStable(before)
})

test('a new process that is the first in a flushed Redis gets no shard', async () => {
  const before = await group.start()
  // A process that joined first would have stored this state.
  const script = `redis.call('flushall') redis.call('zadd', KEYS[1], ARGV[1], ARGV[2]) redis.call('set', KEYS[2], ARGV[3])`
  const left = [String(Date.now()), entryOf('new'), `1 ${JSON.stringify(upTo(5).map(() => 'new'))}`]
  await group.command('EVAL', script, '2', group.living(), group.assignment(), ...left)
  expect(await group.join('new')).toEqual(before)
  await group.expectStable(before)
})

test('processes restore the last assignment of shards if Redis lost it', async () => {
  await group.start()
  const old = await group.stored()
  const after = await group.leave('r')
  // A new assignment would give the shards of `r` to `new`.
  expect(await group.join('new')).toEqual(after)
  await group.command('SET', group.assignment(), old)
  await eventually('the newer assignment', async () => (await group.stored()) !== old)
  await group.expectStable(after)
})

test('homes do not change during and after an outage of Redis, even if Redis lost its data', async () => {
  const before = await group.start()
  for (const hasLostData of [false, true]) {
    group.redis.kill()
    await group.expectStable(before)
    await group.redis.restart()
    if (hasLostData) await group.command('FLUSHALL')
    await group.expectStable(before)
  }
})

test('a Redis frozen for longer than the time to live of members moves no shard', async () => {
  const before = await group.start()
  group.redis.freeze()
  await group.expectStable(before)
  group.redis.thaw()
  await group.expectStable(before)
})

test('crashes and joins during an outage of Redis take effect after the outage', async () => {
  const before = await group.start()
  group.redis.kill()
  const dead = group.members.shift()!
  dead.close()
  // Longer than `outageMs`, so that members that reconnect late are not removed.
  await Bun.sleep(1_500)
  const joining = group.join('late')
  await group.redis.restart()
  const after = await joining
  for (const [shard, home] of before.entries()) if (home !== dead.id) expect(after[shard]).toBe(home)
})

test('a change of the clock of Redis removes no member', async () => {
  const before = await group.start()
  for (const ms of [-3_600_000, 3_600_000]) {
    const heartbeats = await group.command('ZRANGE', group.living(), '0', '-1', 'WITHSCORES')
    const shifted = (heartbeats as [string, number][]).flatMap(([member, at]) => [String(at + ms), member])
    // One command for all members, so that no heartbeat runs between two changes.
    await group.command('ZADD', group.living(), ...shifted)
    await group.expectStable(before)
  }
})
