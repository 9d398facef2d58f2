import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readConfig } from '../../src/config.ts'
import { type Database, openDatabase } from '../../src/postgres/database.ts'
import { make, openClient, type Person, register } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { freshEnv, type ServiceProcess, spawnService } from '../support/service.ts'
import { account, type Load, misnumbered, startLoad } from './load.ts'
import { at, upTo } from './pair.ts'

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

/** Every process in turn gets into trouble under load, in which each request is sent once. */
async function inTurn(trouble: (web: ServiceProcess, i: number, load: Load) => Promise<void>) {
  for (const i of processes.keys()) {
    const web = processes[i]!
    const projects = await Promise.all(
      upTo(12).map((n) => make(at(ada, web), '/projects', { name: `P${n}` })),
    )
    const load = startLoad({
      clients: processes.map((one) => at(ada, one)),
      projectIds: projects.map(({ id }) => id),
      writers: 24,
    })
    await load.acknowledged(200)
    await trouble(web, i, load)
    await load.acknowledged(200)
    await load.stop()
    const { lost, doubled } = await account(database.reads, load)
    expect({ lost, doubled }).toEqual({ lost: [], doubled: [] })
    expect(await misnumbered(database.reads)).toHaveLength(0)
  }
  expect(await faultsOf(database.reads)).toEqual([])
}

test(
  'whichever process is frozen for six seconds, nothing is done twice and nothing acknowledged is lost',
  () =>
    inTurn(async (web) => {
      web.signal('SIGSTOP')
      await Bun.sleep(6_000)
      web.signal('SIGCONT')
    }),
  180_000,
)

test(
  'whichever process is killed, nothing is done twice and nothing acknowledged is lost',
  () =>
    inTurn(async (web, i) => {
      await web.stop('SIGKILL')
      processes[i] = await spawnService('web', { ...env, PORT: new URL(web.url).port })
    }),
  180_000,
)
