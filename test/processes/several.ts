import { eventually } from '../races/pair.ts'
import { type ServiceProcess, spawnService } from '../support/service.ts'

export interface Pids {
  web: number[]
  worker: number[]
}

/** A service of several processes, with what it says of them. */
export interface Several extends ServiceProcess {
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
  return {
    ...service,
    pids,
    async said(what) {
      const find = () => lines().find(({ msg }) => msg === what)
      await eventually(what, () => find() !== undefined)
      return find()
    },
    gone: () => eventually('all are gone', () => [service.pid, ...seen].every((pid) => !isAlive(pid))),
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
