import { availableParallelism, cpus, platform, release, totalmem } from 'node:os'
import { Redis } from 'ioredis'
import type { Bench } from './measure.ts'

/** The machine and the versions, which every result must name. */
export interface Machine {
  cores: number
  cpu: string
  memoryGiB: number
  system: string
  bun: string
  postgres: string
  redis: string
  synchronousCommit: string
  fsync: string
  loadBy: string
  limitBy: string
}

export async function describeMachine({ servers, loader, limiter }: Bench): Promise<Machine> {
  const setting = async (name: string): Promise<string> => {
    const [row] = await servers.sql<{ value: string }[]>`select current_setting(${name}) as value`
    return row?.value ?? ''
  }
  const redis = new Redis(servers.redisUrl)
  const info = await redis.info('server').finally(() => redis.disconnect())
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()}`,
    bun: Bun.version,
    postgres: await setting('server_version'),
    redis: /redis_version:(\S+)/.exec(info)?.[1] ?? 'unknown',
    synchronousCommit: await setting('synchronous_commit'),
    fsync: await setting('fsync'),
    loadBy: loader.name,
    limitBy: limiter.name,
  }
}

export const sentence = (machine: Machine): string =>
  `${machine.cores} cores of ${machine.cpu}, ${machine.memoryGiB} GiB, ${machine.system}; Bun ${machine.bun}, ` +
  `Postgres ${machine.postgres} (synchronous_commit ${machine.synchronousCommit}, fsync ${machine.fsync}), ` +
  `Redis ${machine.redis}; load by ${machine.loadBy}, limit by ${machine.limitBy}; all on this machine.`
