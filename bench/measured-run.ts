import type { LoadRun } from './http-load.ts'
import { median } from './median.ts'
import type { LimitRun } from './limit.ts'
import { cpuMicros, watchMemory } from './process-usage.ts'
import type { Servers } from './servers.ts'

/** Processor time of a request in microseconds, by process. */
export interface Cpu {
  web?: number
  postgres?: number
  redis?: number
}

export interface MeasuredRun {
  perSecond: number
  p50Ms?: number
  p99Ms?: number
  cpu: Cpu
  memoryMiB?: number
  errors: string[]
}

export async function measureRun(
  servers: Pick<Servers, 'pids'>,
  run: () => Promise<LoadRun | LimitRun>,
): Promise<MeasuredRun> {
  const pids = { web: servers.pids.web(), postgres: servers.pids.postgres, redis: servers.pids.redis }
  const read = () => ({
    ...{ web: cpuMicros(pids.web), postgres: cpuMicros(pids.postgres), redis: cpuMicros(pids.redis) },
  })
  const memory = watchMemory(pids.web)
  const before = read()
  const { requests, ...figures } = await run().finally(memory)
  const after = read()
  const spent = (who: keyof Cpu) =>
    after[who] === undefined || before[who] === undefined || !requests
      ? undefined
      : (after[who] - before[who]) / requests
  const cpu = { web: spent('web'), postgres: spent('postgres'), redis: spent('redis') }
  return { ...figures, cpu, memoryMiB: memory() }
}

/** Medians of the runs without errors; undefined without such a run. */
export function medians(runs: MeasuredRun[]): MeasuredRun | undefined {
  const good = runs.filter(({ errors }) => errors.length === 0)
  if (good.length === 0) return undefined
  const of = (pick: (run: MeasuredRun) => number | undefined) => {
    const values = good.map(pick).filter((value) => value !== undefined)
    return values.length ? median(values) : undefined
  }
  return {
    perSecond: of((run) => run.perSecond) ?? 0,
    p50Ms: of((run) => run.p50Ms),
    p99Ms: of((run) => run.p99Ms),
    cpu: {
      web: of((run) => run.cpu.web),
      postgres: of((run) => run.cpu.postgres),
      redis: of((run) => run.cpu.redis),
    },
    memoryMiB: of((run) => run.memoryMiB),
    errors: [],
  }
}

/** The median ratio of two runs of the same round (of their throughput, or of `of`); undefined without a round free of errors. */
export function ratio(
  runs: MeasuredRun[],
  others: MeasuredRun[],
  of = ({ perSecond }: MeasuredRun) => perSecond,
): number | undefined {
  const rounds = others.map((other, n) => ({ run: runs[n]!, other }))
  const good = rounds.filter(({ run, other }) => run.errors.length + other.errors.length === 0)
  return good.length ? median(good.map(({ run, other }) => of(run) / of(other))) : undefined
}
