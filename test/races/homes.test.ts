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

/** Every process in turn gets into trouble under load, in which each request is sent once. Gives what was answered. */
async function inTurn(trouble: (web: ServiceProcess, i: number) => Promise<void>): Promise<Load[]> {
  const loads: Load[] = []
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
    await trouble(web, i)
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

test('whichever process is restarted, no request fails but those to its closed port', async () => {
  const loads = await inTurn(async (web, i) => {
    expect(await web.stop()).toBe(0)
    processes[i] = await spawnService('web', { ...env, PORT: new URL(web.url).port })
  })
  for (const [i, { writes, reads }] of loads.entries()) {
    const isThere = ({ title }: { title: string }) => writerOf(title) % processes.length === i
    expect(writes.filter((write) => write.status !== 201 && !(write.status === 0 && isThere(write)))).toEqual(
      [],
    )
    expect(reads.filter((status) => ![200, 0].includes(status))).toEqual([])
  }
}, 180_000)

const writerOf = (title: string): number => Number(/writer (\d+)/.exec(title)![1])
