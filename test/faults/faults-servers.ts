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

const away: Fault = async ({ stand: { receivers }, random, strike }) => {
  strike()
  await receivers.down()
  await Bun.sleep(random.between(500, 4_000))
  await receivers.up()
}

/** They take everything, and say nothing. */
const silent: Fault = async ({ stand: { receivers }, random, strike }) => {
  strike()
  receivers.be('silent')
  await Bun.sleep(random.between(500, 4_000))
  receivers.be()
}

export const strikeReceivers = { 'receivers away': away, 'receivers silent': silent }

const tornDown: Fault = async (means) => {
  const { stand, strike } = means
  strike()
  await stand.postgres.stopImmediately()
  await comesBack(means, 'postgres recovered its data', () => stand.postgres.start())
}

async function comesBack(
  { random, note }: Parameters<Fault>[0],
  what: string,
  back: () => Promise<unknown>,
): Promise<void> {
  await Bun.sleep(random.between(0, 500))
  const began = performance.now()
  await back()
  note(what, performance.now() - began)
}

const terminated: Fault = ({ stand, strike }) =>
  stand.postgres.ask(async (sql) => {
    await sql`select 1`
    strike()
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'docket'`
  })

/** A backend dies; Postgres then ends all the others, recovers from its log and goes on by itself. */
const crashed: Fault = ({ stand, strike }) =>
  stand.postgres.ask(async (sql) => {
    const [backend] = await sql<{ pid: number }[]>`
      select pid from pg_stat_activity where application_name = 'docket' limit 1`
    strike()
    if (backend) process.kill(backend.pid, 'SIGKILL')
  })

/** To a standby that had all that was acknowledged. What was the primary never comes back. */
const failedOver: Fault = async (means) => {
  const { stand, strike } = means
  await stand.postgres.follow({ synchronous: true })
  strike()
  await stand.postgres.killPrimary()
  await comesBack(means, 'postgres promoted its standby', () => stand.postgres.promote())
}

export const strikePostgres = {
  'postgres torn down': tornDown,
  'postgres connections terminated': terminated,
  'postgres backend crashed': crashed,
  'postgres failed over': failedOver,
}
