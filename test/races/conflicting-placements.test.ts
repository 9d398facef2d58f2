import { type Body, cases, make, makeProjects, openWebs, type Person, upTo } from '../kit.ts'
import { expectAllStored, startLoad } from './load.ts'

// With different numbers of shards, processes disagree about homes, so each project has at least two homes.
const homes = ['1', '2', '8'].map((n) => ({ WRITE_SHARDS: n }))
const { people, sql } = await openWebs(homes, { WRITE_TIMEOUT_MS: '60000' })

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

test('if processes disagree about the home of a project, all writes and moves are stored once and in order', async () => {
  const [ada] = people as [Person]
  const ids = await makeProjects(ada, 8)
  const [left, right] = ids as [string, string]
  const tasks = await Promise.all(upTo(6).map(() => make(ada, '/tasks', { title: 'T', projectId: left })))
  const load = startLoad({ clients: people, projectIds: ids.slice(2), writers: 12 })
  const moves = startMoves(tasks, [left, right])
  await load.acknowledged(cases(300))
  await Promise.all([load.stop(), moves.stop()])
  await expectAllStored(sql, load, [])
  expect([...moves.statuses]).toEqual([200])
  const lists = await Promise.all([left, right].map((id) => ada.get(`/tasks?projectId=${id}`)))
  expect(lists.flatMap(({ body }) => body.map(({ id }) => id)).sort()).toEqual(
    tasks.map(({ id }) => id).sort(),
  )
}, 120_000)
