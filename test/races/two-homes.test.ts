import { expect, test } from 'bun:test'
import { readConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { type Body, make, openClient, type Person, register } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { forFile, freshEnv, type ServiceProcess, spawnService } from '../support/service.ts'
import { account, startLoad } from './load.ts'
import { at, upTo } from './pair.ts'

const fresh = await forFile(freshEnv())
const database = await forFile(openDatabase(readConfig(fresh.env)))
// Each kind keeps homes of its own: for every project two processes at least believe to be its home.
const homes = ['1', '2', '8']
const processes: ServiceProcess[] = await Promise.all(
  homes.map((n) => forFile(spawnService('web', { ...fresh.env, WRITE_HOMES: n }))),
)
const ada = await register(openClient(processes[0]!.url))
const people: Person[] = processes.map((one) => at(ada, one))

/** Moves tasks to and fro between two projects, through all processes, until it is told to stop. */
function startMoves(tasks: Body[], projectIds: [string, string]) {
  const statuses = new Set<number>()
  let going = true
  const mover = async ({ id }: Body, n: number) => {
    for (let turn = n; going; turn++) {
      const projectId = projectIds[turn % 2]
      const { status } = await people[turn % people.length]!.patch(`/tasks/${id}`, {
        projectId,
        title: `${id} turn ${turn}`,
      })
      statuses.add(status)
    }
  }
  const all = tasks.map(mover)
  return {
    statuses,
    async stop() {
      going = false
      await Promise.all(all)
    },
  }
}

test('where every process believes to be home, all writes stand once and in order, moves in both directions too', async () => {
  const [ada] = people as [Person]
  const projects = await Promise.all(upTo(8).map((n) => make(ada, '/projects', { name: `P${n}` })))
  const ids = projects.map(({ id }) => id)
  const [left, right] = ids as [string, string]
  const tasks = await Promise.all(
    upTo(6).map((n) => make(ada, '/tasks', { title: `T${n}`, projectId: left })),
  )
  const load = startLoad({ clients: people, projectIds: ids.slice(2), writers: 12 })
  const moves = startMoves(tasks, [left, right])
  await load.acknowledged(1_500)
  await Promise.all([load.stop(), moves.stop()])
  const { lost, doubled } = await account(database.reads, load)
  expect({ lost, doubled }).toEqual({ lost: [], doubled: [] })
  expect(load.writes.filter(({ status }) => status !== 201)).toEqual([])
  expect([...moves.statuses]).toEqual([200])
  const standing = await Promise.all([left, right].map((id) => ada.get(`/tasks?projectId=${id}`)))
  expect(standing.flatMap(({ body }) => body.map(({ id }) => id)).sort()).toEqual(
    tasks.map(({ id }) => id).sort(),
  )
  expect(await faultsOf(database.reads)).toEqual([])
}, 120_000)
