import { until } from '../../src/local/wait.ts'
import { eventually } from '../races/pair.ts'
import { type ServiceProcess, spawnService } from '../support/service.ts'

/** Replacing three processes starts three, and waits for three to drain. */
export const patienceMs = 100_000

export interface Pids {
  web: number[]
  worker: number[]
}

/** A service of several processes, with what it says of them. */
export interface Several extends ServiceProcess {
  /** What it has logged. */
  lines(): { msg: string; pid: number }[]
  said(what: string): Promise<Record<string, unknown>>
  /** Its processes as it named them last. */
  pids(): Pids
  gone(): Promise<void>
}

export async function spawnSeveral(
  command: 'start' | 'web',
  env: Record<string, string>,
  options: string[] = [],
): Promise<Several> {
  const service = await spawnService(command, { WEB_CONCURRENCY: '2', ...env }, options)
  const lines = () => service.output.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
  const seen = new Set<number>()
  const pids = () => {
    const { web, worker } = lines().findLast((line) => line.web)
    for (const pid of [...web, ...worker]) seen.add(pid)
    return { web, worker }
  }
  pids()
  const gone = () => eventually('all are gone', () => [service.pid, ...seen].every((pid) => !isAlive(pid)))
  return {
    ...{ ...service, pids, lines, gone },
    async close() {
      await service.close()
      await gone()
      return null
    },
    async said(what) {
      const find = () => lines().find(({ msg }) => msg === what)
      if (!(await until(find, patienceMs, { everyMs: 10 }))) throw new Error(`It never said: ${what}`)
      return find()
    },
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
