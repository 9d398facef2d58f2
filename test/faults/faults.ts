import { terminateConnections } from '../support/database.ts'
import { type Deployment, leaseTtlMs } from './deployment.ts'
import type { Random } from './random.ts'

export interface FaultContext extends Deployment {
  random: Random
  web: Deployment['webs'][number]
  /** Writes at another process to a project whose home is `web`. */
  takeOver(): Promise<unknown>
}

interface Fault {
  inject(context: FaultContext): Promise<unknown>
  /** The requests that may fail meanwhile: none, those to the port of the stopped process, or any. */
  fails: 'none' | 'port' | 'any'
}

const pause = (random: Random, maxMs: number) => Bun.sleep(random.between(0, maxMs))

const everyLease = async ({ redis, random }: FaultContext, command: string) => {
  const script = `for _, key in ipairs(redis.call('keys', '*:lease:*')) do ${command} end`
  for (let n = 0; n < 20; n++) {
    await redis.send('EVAL', script, '0')
    await pause(random, 60)
  }
}

const restartRedis =
  (data: 'keep' | 'delete') =>
  async ({ redis, random }: FaultContext) => {
    redis.kill()
    await pause(random, 1_500)
    await redis.restart(data)
  }

/** What fails, and which requests may fail with it. Afterwards every check of `check-run.ts` must hold. */
export const faults = {
  'web killed': {
    fails: 'any',
    async inject({ web, random }) {
      await web.kill()
      await pause(random, 400)
      await web.start()
    },
  },
  'web stopped and started': {
    fails: 'port',
    async inject({ web }) {
      await web.stop()
      await web.start()
    },
  },
  'web frozen until its leases expire': {
    fails: 'any',
    async inject({ web, random, takeOver }) {
      await web.signal('SIGSTOP')
      const thaw = Bun.sleep(random.between(1.3, 3) * leaseTtlMs)
      await takeOver()
      await thaw
      await web.signal('SIGCONT')
    },
  },
  'worker killed': {
    fails: 'none',
    async inject({ worker, random }) {
      await worker.kill()
      await pause(random, 400)
      await worker.start()
    },
  },
  'worker frozen': {
    fails: 'none',
    async inject({ worker, random }) {
      await worker.signal('SIGSTOP')
      // The lock of a job expires within 16 s, so that BullMQ gives the job to another worker.
      await Bun.sleep(random.chance(0.2) ? 16_000 : random.between(500, 3_000))
      await worker.signal('SIGCONT')
    },
  },
  'redis killed, back empty': { fails: 'none', inject: restartRedis('delete') },
  'redis killed, back with its data': { fails: 'none', inject: restartRedis('keep') },
  'redis frozen': {
    fails: 'none',
    async inject({ redis, random }) {
      redis.freeze()
      await Bun.sleep(random.between(500, 2_500))
      redis.thaw()
    },
  },
  'redis flushed': { fails: 'none', inject: ({ redis }) => redis.send('FLUSHALL') },
  'redis connections cut': {
    fails: 'none',
    async inject({ redis }) {
      for (const type of ['normal', 'pubsub'])
        await redis.send('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes')
    },
  },
  'redis switched to its replica': { fails: 'none', inject: ({ redis }) => redis.failOver() },
  'leases expired': { fails: 'none', inject: (context) => everyLease(context, `redis.call('del', key)`) },
  'leases stolen': {
    fails: 'any',
    inject: (context) => everyLease(context, `redis.call('set', key, 'unknown holder', 'px', ${leaseTtlMs})`),
  },
  'postgres torn down': {
    fails: 'any',
    async inject({ postgres, random }) {
      await postgres.stopImmediately()
      await pause(random, 500)
      await postgres.start()
    },
  },
  'postgres connections terminated': {
    fails: 'any',
    inject: ({ postgres }) => postgres.query(terminateConnections),
  },
  // Postgres ends all backends, recovers from its log and accepts connections again.
  'postgres backend crashed': {
    fails: 'any',
    inject: ({ postgres }) =>
      postgres.query(async (sql) => {
        const [backend] = await sql<{ pid: number }[]>`
          select pid from pg_stat_activity where application_name = 'docket' limit 1`
        if (backend) process.kill(backend.pid, 'SIGKILL')
      }),
  },
  // The standby has all acknowledged writes. The old primary stays down.
  'postgres failed over': {
    fails: 'any',
    async inject({ postgres, random }) {
      await postgres.startStandby({ synchronous: true })
      await postgres.killPrimary()
      await pause(random, 500)
      await postgres.promote()
    },
  },
  'receivers away': {
    fails: 'none',
    async inject({ receivers, random }) {
      await receivers.down()
      await Bun.sleep(random.between(500, 3_000))
      await receivers.up()
    },
  },
} satisfies Record<string, Fault>

export type FaultName = keyof typeof faults
export const faultNames = Object.keys(faults) as FaultName[]

/** The part that a fault breaks. Two faults at the same time must break different parts. */
const partOf = (name: FaultName): string => name.split(' ')[0]!.replace('leases', 'redis')

export function* endlessFaults(random: Random): Generator<FaultName[]> {
  for (;;)
    for (const name of random.shuffled(faultNames)) {
      const other = random.pick(faultNames)!
      yield random.chance(0.2) && partOf(other) !== partOf(name) ? [name, other] : [name]
    }
}
