import { afterAll, beforeAll, expect } from 'bun:test'
import { readConfig } from '../../src/config.ts'
import { type Database, openDatabase } from '../../src/postgres/database.ts'
import { make, openClient, type Person, register } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { freshEnv, type ServiceProcess, spawnService } from '../support/service.ts'
import { account, type Load, misnumbered, startLoad } from './load.ts'
import { at, upTo } from './pair.ts'

/** Three web processes for the tests of a file, and a load that meets trouble at each of them in turn. */
export function openThreeHomes() {
  let env: Record<string, string>
  let drop: () => Promise<void>
  let database: Database
  let processes: ServiceProcess[]
  let ada: Person
  beforeAll(async () => {
    ;({ env, drop } = await freshEnv())
    database = openDatabase(readConfig(env))
    processes = await Promise.all(upTo(3).map(() => spawnService('web', env)))
    ada = await register(openClient(processes[0]!.url))
  })
  afterAll(async () => {
    await Promise.all([...processes.map((web) => web.stop('SIGKILL')), database.close()])
    await drop()
  })

  /** Calls `trouble` with each process in turn, under load in which each request is sent once. Returns the answers. */
  async function inTurn(trouble: (web: ServiceProcess) => Promise<void>): Promise<Load[]> {
    const loads: Load[] = []
    for (const web of [...processes]) {
      const projects = await Promise.all(
        upTo(12).map((n) => make(at(ada, web), '/projects', { name: `P${n}` })),
      )
      const load = startLoad({
        clients: processes.map((one) => at(ada, one)),
        projectIds: projects.map(({ id }) => id),
        writers: 24,
      })
      await load.acknowledged(200)
      await trouble(web)
      await load.acknowledged(200)
      await load.stop()
      const { lost, doubled } = await account(database.reads, load)
      expect({ lost, doubled }).toEqual({ lost: [], doubled: [] })
      expect(await misnumbered(database.reads)).toHaveLength(0)
      loads.push(load)
    }
    expect(await faultsOf(database.reads)).toEqual([])
    return loads
  }

  /** Starts another process in the place of one that ended, on its port. */
  async function replace(ended: ServiceProcess): Promise<void> {
    const next = await spawnService('web', { ...env, PORT: new URL(ended.url).port })
    processes = processes.map((web) => (web === ended ? next : web))
  }

  return { inTurn, replace }
}
