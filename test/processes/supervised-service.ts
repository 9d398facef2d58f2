import { eventually, spawnService, until } from '../kit.ts'

/** Enough for three starts and three drains, as in a rolling restart of three processes. */
const timeoutMs = 250_000

export type SupervisedService = Awaited<ReturnType<typeof spawnSupervised>>

interface Line extends Record<string, unknown> {
  msg: string
  pid: number
  web: number[]
  worker: number[]
}

export async function spawnSupervised(
  command: 'start' | 'web',
  env: Record<string, string>,
  options: string[] = [],
) {
  const service = await spawnService(command, { WEB_CONCURRENCY: '2', ...env }, options)
  const lines = (): Line[] =>
    service.output.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
  const knownPids = new Set<number>()
  const pids = () => {
    const { web, worker } = lines().findLast((line) => line.web)!
    for (const pid of [...web, ...worker]) knownPids.add(pid)
    return { web, worker }
  }
  pids()
  const ended = () =>
    eventually('the end of all processes', () => [service.pid, ...knownPids].every((pid) => !isAlive(pid)))
  return {
    ...{ ...service, pids, lines, ended },
    async close() {
      await service.close()
      await ended()
      return null
    },
    async logged(message: string) {
      const find = () => lines().find(({ msg }) => msg === message)
      const line = await until(find, timeoutMs, { everyMs: 10 })
      if (!line) throw new Error(`Not logged: ${message}`)
      return line
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
