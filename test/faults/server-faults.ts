import { terminateConnections } from '../support/database.ts'
import { leaseTtlMs } from './deployment.ts'
import type { Fault } from './faults.ts'

const restart =
  (data: 'keep' | 'delete'): Fault =>
  async ({ deployment: { redis }, random, start }) => {
    start()
    redis.kill()
    await Bun.sleep(random.between(0, 1_500))
    await redis.restart(data)
  }

const frozen: Fault = async ({ deployment: { redis }, random, start }) => {
  start()
  redis.freeze()
  await Bun.sleep(random.between(500, 2_500))
  redis.thaw()
}

const flushed: Fault = async ({ deployment: { redis }, start }) => {
  start()
  await redis.send('FLUSHALL')
}

const cut: Fault = async ({ deployment: { redis }, start }) => {
  start()
  for (const type of ['normal', 'pubsub']) await redis.send('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes')
}

const onEveryLease =
  (command: string): Fault =>
  async ({ deployment: { redis }, random, start }) => {
    const script = `for _, key in ipairs(redis.call('keys', '*:lease:*')) do ${command} end`
    start()
    const until = performance.now() + random.between(100, 1_000)
    do {
      await redis.send('EVAL', script, '0')
      await Bun.sleep(random.between(1, 30))
    } while (performance.now() < until)
  }

const switched: Fault = async ({ deployment: { redis }, start }) => {
  const finish = await redis.failOver()
  start()
  await finish()
}

export const redisFaults = {
  'redis killed, back empty': restart('delete'),
  'redis killed, back with its data': restart('keep'),
  'redis frozen': frozen,
  'redis flushed': flushed,
  'redis connections cut': cut,
  'redis switched to its replica': switched,
  'leases expired': onEveryLease(`redis.call('del', key)`),
  'leases stolen': onEveryLease(`redis.call('set', key, 'unknown holder', 'px', ${leaseTtlMs})`),
}

const away: Fault = async ({ deployment: { receivers }, random, start }) => {
  start()
  await receivers.down()
  await Bun.sleep(random.between(500, 4_000))
  await receivers.up()
}

const silent: Fault = async ({ deployment: { receivers }, random, start }) => {
  start()
  receivers.behave('silent')
  await Bun.sleep(random.between(500, 4_000))
  receivers.behave()
}

export const receiverFaults = { 'receivers away': away, 'receivers silent': silent }

const tornDown: Fault = async ({ deployment: { postgres }, random, start }) => {
  start()
  await postgres.stopImmediately()
  await Bun.sleep(random.between(0, 500))
  await postgres.start()
}

const terminated: Fault = ({ deployment: { postgres }, start }) =>
  postgres.query(async (sql) => {
    await sql`select 1`
    start()
    await terminateConnections(sql)
  })

/** After the crash of one backend, Postgres ends all backends, recovers from its log and accepts connections again. */
const crashed: Fault = ({ deployment: { postgres }, start }) =>
  postgres.query(async (sql) => {
    const [backend] = await sql<{ pid: number }[]>`
      select pid from pg_stat_activity where application_name = 'docket' limit 1`
    start()
    if (backend) process.kill(backend.pid, 'SIGKILL')
  })

/** Promotes a standby that has all acknowledged writes. The old primary stays down. */
const failedOver: Fault = async ({ deployment: { postgres }, random, start }) => {
  await postgres.startStandby({ synchronous: true })
  start()
  await postgres.killPrimary()
  await Bun.sleep(random.between(0, 500))
  await postgres.promote()
}

export const postgresFaults = {
  'postgres torn down': tornDown,
  'postgres connections terminated': terminated,
  'postgres backend crashed': crashed,
  'postgres failed over': failedOver,
}
