import { readConfig } from '../../src/config.ts'
import { openDatabase, type Sql } from '../../src/postgres/database.ts'
import { until } from '../../src/local/wait.ts'
import { openClient, type Person, register } from '../support/client.ts'
import { closing, freshEnv, type ServiceProcess, spawnService } from '../support/service.ts'

/** Two web processes on one database and one Redis, and somebody signed in at both. */
export interface Pair extends AsyncDisposable {
  env: Record<string, string>
  a: ServiceProcess
  b: ServiceProcess
  atA: Person
  atB: Person
  sql: Sql
  close(): Promise<void>
}

export async function openPair(
  overrides: Record<string, string> = {},
  onlyB: Record<string, string> = {},
): Promise<Pair> {
  const { env, drop } = await freshEnv(overrides)
  const [a, b] = await Promise.all([spawnService('web', env), spawnService('web', { ...env, ...onlyB })])
  const atA = await register(openClient(a.url))
  const database = openDatabase(readConfig(env))
  return closing({
    env,
    a,
    b,
    atA,
    atB: at(atA, b),
    sql: database.reads,
    async close() {
      await Promise.all([a.stop('SIGKILL'), b.stop('SIGKILL'), database.close()])
      await drop()
    },
  })
}

/** The same person at another process. */
export const at = (person: Person, { url }: { url: string }): Person => ({ ...person, ...person.at(url) })

/** Longer than anything takes, on a machine as slow as may be. */
const everMs = 60_000

/** Waits until `ask` is true. */
export async function eventually(what: string, ask: () => boolean | Promise<boolean>): Promise<void> {
  const found = await until(async () => ((await ask()) ? true : undefined), everMs, { everyMs: 10 })
  if (!found) throw new Error(`In vain waited for: ${what}`)
}

/** 1, 2, … n */
export const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1)

/** How often each value stands among them. */
export function tally(values: number[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}
