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

/** The part that a fault breaks. Two faults at the same time must break different parts. */
const partOf = (name: FaultName): string => name.split(' ')[0]!.replace('leases', 'redis')

export function* endlessFaults(random: Random): Generator<FaultName[]> {
  for (;;)
    for (const name of random.shuffled(faultNames)) {
      const other = random.pick(faultNames)!
      yield random.chance(0.2) && partOf(other) !== partOf(name) ? [name, other] : [name]
    }
}
