import { expect, test } from 'bun:test'
import { Membership } from '../../src/routing/membership.ts'
import { openLog } from '../../src/log.ts'
import { disconnect, openRedis } from '../../src/redis/connections.ts'
import { eventually } from '../races/pair.ts'
import { Circle, entryOf } from './member-group.ts'
import { agreed, type Member } from './member.ts'

const circle = new Circle()

test('what nobody was told of is seen at the next beat', async () => {
  await circle.settle()
  const [dead, ...rest] = circle.members as [Member, ...Member[]]
  dead.close()
  const [entry] = (await circle.listed()).filter((one) => one.includes(`"${dead.id}"`))
  await circle.command('ZREM', circle.living(), entry!)
  await agreed(rest)
})

test('who leaves while its line is cut has left when it is drawn again, not when it was silent too long', async () => {
  await circle.settle()
  const [leaver, ...rest] = circle.members as [Member, ...Member[]]
  // Silent it cannot be, for somebody beats in its name while it is listed.
  const beat = () => circle.command('ZADD', circle.living(), 'XX', String(Date.now()), entryOf(leaver.id))
  const beating = setInterval(() => void beat().catch(() => {}), 100)
  for (const type of ['normal', 'pubsub']) await circle.command('CLIENT', 'KILL', 'TYPE', type)
  await leaver.leave()
  await agreed(rest).finally(() => clearInterval(beating))
})

test('who has left is not brought back by others who remember it', async () => {
  await circle.settle()
  const [leaver, ...rest] = circle.members as [Member, ...Member[]]
  await leaver.leave()
  const after = await agreed(rest)
  const entry = entryOf(leaver.id)
  await circle.command('ZADD', circle.living(), String(Date.now()), entry)
  await eventually('it is taken out', async () => !(await circle.listed()).includes(entry))
  expect(await agreed(rest)).toEqual(after)
})

/** What no process of this version writes there. */
const strangePeers = `{ 7 null [] "a" {"id":1} {"id":"x","host":"h"} {"id":"x","host":[],"port":1}
  {"id":"x","host":"","port":1} {"id":"x","host":"h","port":0} {"id":"x","host":"h","port":65536}`
const strangeAssignments = [
  '',
  '{',
  '["r"]',
  '7',
  '7 ',
  '7 {}',
  '7 [1,2]',
  '7 ["nobody"]',
  '1e9 []',
  '999999999 []',
]
const tooLarge = `${'9'.repeat(40)} []`

test('who is listed and is no process of this version is not seen, and gone soon', async () => {
  const before = await circle.settle()
  const now = String(Date.now())
  const entries = strangePeers.split(/\s+/).flatMap((entry) => [now, entry])
  await circle.command('ZADD', circle.living(), ...entries, 'inf', 'ever', '1e300', 'late')
  await circle.unmoved(before)
  expect(await circle.listed()).toHaveLength(circle.members.length)
  await circle.command('SET', circle.living(), 'a text')
  await circle.unmoved(before)
})

test('what is no assignment of this version is replaced', async () => {
  await circle.settle()
  for (const text of [...strangeAssignments, tooLarge, `8 ${JSON.stringify([...'rstrstrst'])}`]) {
    await circle.command('SET', circle.assignment(), text)
    await eventually('another', async () => (await circle.command('GET', circle.assignment())) !== text)
    await agreed(circle.members)
  }
  await circle.command('LPUSH', 'list', 'one')
  await circle.command('RENAME', 'list', circle.assignment())
  await eventually('a text', async () => (await circle.command('TYPE', circle.assignment())) === 'string')
  await circle.unmoved(await agreed(circle.members))
})

test('of two assignments that were made from the same one the first is taken', async () => {
  const log = openLog('silent')
  const config = { redisUrl: circle.redis.url, redisPrefix: 'assigning', writeShards: 2 }
  const redis = openRedis(config.redisUrl, log)
  await eventually('Redis', () => redis.status === 'ready')
  const [one, other] = [1, 2].map(() => new Membership(redis, config, log, () => {})) as [
    Membership,
    Membership,
  ]
  for (const membership of [one, other]) await membership.read(undefined)
  expect([await one.assign(['p', 'q']), await other.assign(['q', 'q'])]).toEqual([true, false])
  expect((await other.read(undefined)).assignment).toEqual(['p', 'q'])
  expect(await other.assign(['q', 'q'])).toBeTrue()
  for (const membership of [one, other]) membership.close()
  disconnect(redis)
})
