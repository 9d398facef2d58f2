import { readConfig } from '../../src/config.ts'
import { openDatabase, type Sql } from '../../src/postgres/database.ts'
import { until } from '../../src/local/server.ts'
import { emptyTables } from '../support/database.ts'
import { type Client, make, openClient, type Person, register } from '../support/client.ts'
import { disposable, forFile, freshEnv, spawnService } from '../support/service.ts'

type Env = Record<string, string>

/** Starts web processes, which the caller closes. */
async function startWebs(each: Env[], overrides: Env) {
  const { env, drop } = await freshEnv(overrides)
  const webs = await Promise.all(each.map((own) => spawnService('web', { ...env, ...own })))
  const database = openDatabase(readConfig(env))
  return disposable({
    ...{ env, webs, people: await signIn(webs), sql: database.reads },
    async close() {
      await Promise.all([...webs.map((web) => web.close()), database.close()])
      await drop()
    },
  })
}

/** Registers a user, and returns a client of the user at each process. */
async function signIn(webs: { url: string }[]): Promise<Person[]> {
  const person = await register(openClient(webs[0]!.url))
  return webs.map((web) => at(person, web))
}

let shared: ReturnType<typeof startWebs> | undefined

/** Returns two processes with default settings that the files of this process share, with an empty database. */
async function openShared(): ReturnType<typeof startWebs> {
  const webs = await (shared ??= startWebs([{}, {}], {}))
  await emptyTables(webs.sql)
  return disposable({ ...webs, people: await signIn(webs.webs), close: async () => {} })
}

/** Opens web processes until the end of the file, or of the test that opens them. Not for hooks. */
export const openWebs = (each: Env[], overrides: Env = {}) => forFile(startWebs(each, overrides))

const pairOf = ({ webs, people, ...others }: Awaited<ReturnType<typeof startWebs>>) => {
  return { ...others, a: webs[0]!, b: webs[1]!, atA: people[0]!, atB: people[1]! }
}

export type Pair = ReturnType<typeof pairOf>

/** Files without `overrides` share their processes: a file that stops a process gives `{}`. */
export const openPair = async (overrides?: Env, onlyB: Env = {}): Promise<Pair> =>
  pairOf(await (overrides ? openWebs([{}, onlyB], overrides) : openShared()))

export const at = (person: Person, { url }: { url: string }): Person => ({ ...person, ...person.at(url) })

export const makeProjects = (user: Client, count: number): Promise<string[]> =>
  Promise.all(upTo(count).map(async (n) => (await make(user, '/projects', { name: `P${n}` })).id))

export async function deleteAndPurge(user: Client, sql: Sql, id: string): Promise<void> {
  await user.delete(`/projects/${id}`)
  const streams = () => sql`select from streams where project_id = ${id}`
  await eventually('the purge of the project', async () => (await streams()).length === 0)
}

/** Longer than the minute between two runs of a recurring step, which do again what a lost job should have done. */
const timeoutMs = 90_000

export async function eventually(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const found = await until(async () => ((await condition()) ? true : undefined), timeoutMs, { everyMs: 10 })
  if (!found) throw new Error(`Timed out waiting for ${what}`)
}

export const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1)

export const statuses = (answers: { status: number }[]) => tally(answers.map(({ status }) => status))

export function tally(values: number[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}
