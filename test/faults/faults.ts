import { terminateConnections } from '../support/database.ts'
import { type Deployment, leaseTtlMs } from './deployment.ts'
import type { Random } from './random.ts'

export interface FaultContext extends Deployment {
  random: Random
  web: Deployment['webs'][number]
  /** Writes at another process to a project whose home is `web`. */
  takeOver(): Promise<unknown>
}

type Step = (context: FaultContext) => unknown
/** The requests that may fail meanwhile: none, those to the port of the stopped process, or any. */
type Fails = 'none' | 'port' | 'any'
type Fault = [fails: Fails, begin: Step, end?: Step, maxMs?: number]

/** Other keys push out those of the service: leases, jobs, counts and the list of processes. */
const fillRedis: Step = async ({ redis }) => {
  const [, used] = /used_memory:(\d+)/.exec(String(await redis.send('INFO', 'memory')))!
  await redis.send('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-random')
  await redis.send('CONFIG', 'SET', 'maxmemory', String(Number(used) + 2_000_000))
  for (let n = 0; n < 200; n++) await redis.send('SET', `other-${n}`, 'x'.repeat(50_000))
}

/** A read-only server, like a primary that has become a standby. */
const readOnly =
  (value: 'on' | 'off'): Step =>
  ({ postgres }) =>
    postgres.query(async (sql) => {
      await sql.unsafe(`alter system set default_transaction_read_only = ${value}`)
      await sql`select pg_reload_conf()`
    })

const onEveryLease =
  (command: string): Step =>
  async ({ redis, random }) => {
    const script = `for _, key in ipairs(redis.call('keys', '*:lease:*')) do ${command} end`
    for (let n = 0; n < 20; n++) {
      await redis.send('EVAL', script, '0')
      await Bun.sleep(random.between(0, 60))
    }
  }

/** The requests that may fail, the start and the end of each fault. Every check of `check-run.ts` must hold afterwards. */
const catalogue = {
  'web killed': ['any', ({ web }) => web.kill(), ({ web }) => web.start(), 400],
  'web stopped and started': ['port', ({ web }) => web.stop(), ({ web }) => web.start()],
  'web frozen until its leases expire': [
    'any',
    async ({ web, takeOver }) => {
      await web.signal('SIGSTOP')
      await takeOver()
    },
    ({ web }) => web.signal('SIGCONT'),
    3 * leaseTtlMs,
  ],
  'worker killed': ['none', ({ worker }) => worker.kill(), ({ worker }) => worker.start(), 400],
  // The lock of a job expires within 16 s.
  'worker frozen': [
    'none',
    ({ worker }) => worker.signal('SIGSTOP'),
    ({ worker }) => worker.signal('SIGCONT'),
    18_000,
  ],
  'redis killed, back empty': [
    'none',
    ({ redis }) => redis.kill(),
    ({ redis }) => redis.restart('delete'),
    1_500,
  ],
  'redis killed, back with its data': [
    'none',
    ({ redis }) => redis.kill(),
    ({ redis }) => redis.restart('keep'),
    1_500,
  ],
  'redis frozen': ['none', ({ redis }) => redis.freeze(), ({ redis }) => redis.thaw(), 2_500],
  'redis flushed': ['none', ({ redis }) => redis.send('FLUSHALL')],
  'redis connections cut': [
    'none',
    ({ redis }) => redis.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
    ({ redis }) => redis.send('CLIENT', 'KILL', 'TYPE', 'pubsub', 'SKIPME', 'yes'),
  ],
  'redis without memory': ['none', fillRedis, ({ redis }) => redis.send('CONFIG', 'SET', 'maxmemory', '0')],
  'redis away while a web process starts': [
    'port',
    async ({ redis, web }) => {
      await web.stop()
      redis.kill()
      await web.start()
    },
    ({ redis }) => redis.restart('keep'),
  ],
  'redis switched to its replica': ['none', ({ redis }) => redis.failOver()],
  'leases expired': ['none', onEveryLease(`redis.call('del', key)`)],
  'leases stolen': ['any', onEveryLease(`redis.call('set', key, 'unknown', 'px', ${leaseTtlMs})`)],
  'postgres torn down': [
    'any',
    ({ postgres }) => postgres.stopImmediately(),
    ({ postgres }) => postgres.start(),
    500,
  ],
  'postgres connections terminated': ['any', ({ postgres }) => postgres.query(terminateConnections)],
  'postgres frozen': [
    'any',
    ({ postgres }) => postgres.signal('SIGSTOP'),
    ({ postgres }) => postgres.signal('SIGCONT'),
    5_000,
  ],
  'postgres read-only': ['none', readOnly('on'), readOnly('off'), 2_000],
  // Postgres ends all backends, recovers from its log and accepts connections again.
  'postgres backend crashed': [
    'any',
    ({ postgres }) =>
      postgres.query(async (sql) => {
        const [backend] = await sql<{ pid: number }[]>`
          select pid from pg_stat_activity where application_name = 'docket' limit 1`
        if (backend) process.kill(backend.pid, 'SIGKILL')
      }),
  ],
  // The standby has all acknowledged writes. The old primary stays down.
  'postgres failed over': [
    'any',
    async ({ postgres }) => {
      await postgres.startStandby({ synchronous: true })
      await postgres.killPrimary()
    },
    ({ postgres }) => postgres.promote(),
    500,
  ],
  'receivers away': ['none', ({ receivers }) => receivers.down(), ({ receivers }) => receivers.up(), 3_000],
} satisfies Record<string, Fault>

export type FaultName = keyof typeof catalogue
const faults: Record<FaultName, Fault> = catalogue
export const faultNames = Object.keys(catalogue) as FaultName[]
export const failuresOf = (name: FaultName): Fails => faults[name][0]

export async function inject(name: FaultName, context: FaultContext): Promise<void> {
  const [, begin, end, maxMs = 0] = faults[name]
  await begin(context)
  await Bun.sleep(context.random.between(0, maxMs))
  await end?.(context)
}

/** The parts that a fault breaks. Two faults at the same time must break different parts. */
const partsOf = (name: FaultName): string[] =>
  name.replace('leases', 'redis').match(/web|worker|redis|postgres|receivers/g) ?? []

export function* endlessFaults(random: Random): Generator<FaultName[]> {
  for (;;)
    for (const name of random.shuffled(faultNames)) {
      const other = random.pick(faultNames)!
      yield random.chance(0.2) && partsOf(other).every((part) => !partsOf(name).includes(part))
        ? [name, other]
        : [name]
    }
}
