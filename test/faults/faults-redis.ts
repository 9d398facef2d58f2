import type { Fault, Scene } from './faults.ts'
import { leaseTtlMs } from './stand.ts'

const restart =
  (what: 'kept' | 'empty'): Fault =>
  async ({ stand, random, strike }) => {
    strike()
    await stand.redis.kill()
    await Bun.sleep(random.between(0, 1_500))
    await stand.redis.start(what)
  }

const frozen: Fault = async ({ stand, random, strike }) => {
  strike()
  stand.redis.freeze()
  await Bun.sleep(random.between(500, 2_500))
  stand.redis.thaw()
}

const flushed: Fault = async ({ stand, strike }) => {
  strike()
  await stand.redis.ask('FLUSHALL')
}

const cut: Fault = async ({ stand, strike }) => {
  strike()
  for (const type of ['normal', 'pubsub'])
    await stand.redis.ask('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes')
}

/** Again and again for a moment, so that every process is without its leases in the middle of its work. */
const onEveryLease =
  (command: string): Fault =>
  async ({ stand, random, strike }: Scene) => {
    const script = `for _, key in ipairs(redis.call('keys', '*:lease:*')) do ${command} end`
    strike()
    const until = performance.now() + random.between(100, 1_000)
    do {
      await stand.redis.ask('EVAL', script, '0')
      await Bun.sleep(random.between(1, 30))
    } while (performance.now() < until)
  }

/** By the sentinel, while both are there. */
const switched: Fault = async ({ stand, strike }) => {
  const done = await stand.redis.switch()
  strike()
  await done()
}

export const strikeRedis = {
  'redis killed, back empty': restart('empty'),
  'redis killed, back with its data': restart('kept'),
  'redis frozen': frozen,
  'redis flushed': flushed,
  'redis connections cut': cut,
  'redis switched to its replica': switched,
  'leases expired': onEveryLease(`redis.call('del', key)`),
  'leases stolen': onEveryLease(`redis.call('set', key, 'a stranger', 'px', ${leaseTtlMs})`),
}
