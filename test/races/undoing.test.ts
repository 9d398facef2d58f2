import { cases, faultsOf, forFile, make, openPair, openTestService, register, statuses } from '../kit.ts'
import { tally, upTo, versionOf } from '../kit.ts'

const pair = await openPair()
const alone = await forFile(openTestService())
const ada = await register(alone.client)
const rounds = cases(12)

/** Yields to other work, so that the second of two requests starts a little later. */
async function yieldTimes(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise(setImmediate)
}

// In one process, both requests may be in one batch.
describe.each([
  ['in two processes', pair.atA, pair.atB],
  ['in one process', ada, ada],
] as const)('%s', (_, one, other) => {
  let projectId: string
  const newTask = () => make(one, '/tasks', { title: 'T0', projectId })
  const undo = (user: typeof one, seq: number) => user.post(`/projects/${projectId}/undo`, { seq })
  beforeEach(async () => void (projectId = (await make(one, '/projects', { name: 'P' })).id))

  test('an undo never overwrites a concurrent write of the same field', async () => {
    const seen: number[] = []
    const { id } = await newTask()
    for (const n of upTo(rounds)) {
      await one.patch(`/tasks/${id}`, { title: `Done ${n}` })
      const seq = await versionOf(one, projectId)
      const undoing = undo(one, seq)
      // In every tenth round, the write starts after the undo.
      await (n % 10 === 0 ? undoing : yieldTimes(n % 10))
      const written = await other.patch(`/tasks/${id}`, { title: `Written ${n}` })
      const { status, body } = await undoing
      expect(written.status).toBe(200)
      expect((await one.get(`/tasks/${id}`)).body.title).toBe(`Written ${n}`)
      if (status !== 200) expect(body.message).toEndWith(`title changed since by seq ${seq + 1}`)
      seen.push(status)
    }
    expect(Object.keys(tally(seen))).toEqual(['200', '409'])
  })

  test('exactly one of many concurrent undos of the same change succeeds', async () => {
    const { id } = await newTask()
    for (const n of upTo(rounds)) {
      await one.patch(`/tasks/${id}`, { title: `Done ${n}` })
      const seq = await versionOf(one, projectId)
      const answers = await Promise.all(upTo(6).map((i) => undo(i % 2 ? one : other, seq)))
      expect(statuses(answers)).toEqual({ 200: 1, 409: 5 })
      expect((await one.get(`/tasks/${id}`)).body.title).toBe('T0')
    }
  })

  test('a child added while the creation of its task is undone either gets 404 or prevents the undo', async () => {
    for (const n of upTo(rounds)) {
      const { id } = await newTask()
      const seq = await versionOf(one, projectId)
      const [list, body] = n % 4 < 2 ? ['subtasks', { title: 'S' }] : ['comments', { text: 'C' }]
      // Other writes keep the project busy, so that both requests wait for the same batch. Their order depends on `n`.
      const busy = upTo(20).map(newTask)
      const added = other.post(`/tasks/${id}/${list}`, body)
      await yieldTimes(n % 6)
      const undone = await undo(one, seq)
      await Promise.all(busy)
      const { status } = await one.get(`/tasks/${id}`)
      expect([undone.status, (await added).status, status]).toEqual(
        undone.status === 200 ? [200, 404, 404] : [409, 201, 200],
      )
    }
  })
})

test('after the tests above, the stored rows agree with the logs', async () => {
  for (const sql of [pair.sql, alone.services.database.reads]) expect(await faultsOf(sql)).toEqual([])
})
