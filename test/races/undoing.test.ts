import { cases, faultsOf, forFile, make, openPair, openTestService, register, statuses } from '../kit.ts'
import { tally, upTo } from '../kit.ts'
import type { Answer, Body, Person } from '../kit.ts'

const pair = await openPair()
const alone = await forFile(openTestService())
const ada = await register(alone.client)
const rounds = cases(12)

// In one process, both requests may be in one batch.
for (const [where, one, other] of [
  ['in two processes', pair.atA, pair.atB],
  ['in one process', ada, ada],
] as const) {
  let project: Body
  let undo: (user: Person, body: object) => Promise<Answer>
  const version = async () => Number((await one.get(`/projects/${project.id}`)).headers.get('docket-version'))
  const newTask = () => make(one, '/tasks', { title: 'T0', projectId: project.id })
  beforeEach(async () => {
    project = await make(one, '/projects', { name: 'P' })
    undo = (user, body) => user.post(`/projects/${project.id}/undo`, body)
  })

  test(`an undo never overwrites a concurrent write of the same field (${where})`, async () => {
    const seen: number[] = []
    const { id } = await newTask()
    for (const n of upTo(rounds)) {
      await one.patch(`/tasks/${id}`, { title: `Done ${n}` })
      const seq = await version()
      // Starts the write later in each round; in every tenth round, after the undo.
      const undoing = undo(one, { seq })
      for (let turn = 0; turn < n % 10; turn++) await new Promise(setImmediate)
      if (n % 10 === 0) await undoing
      const written = await other.patch(`/tasks/${id}`, { title: `Written ${n}` })
      const undone = await undoing
      expect(written.status).toBe(200)
      expect((await one.get(`/tasks/${id}`)).body.title).toBe(`Written ${n}`)
      expect([200, 409]).toContain(undone.status)
      if (undone.status === 409)
        expect(undone.body.message).toEndWith(`title changed since by seq ${seq + 1}`)
      seen.push(undone.status)
    }
    expect(Object.keys(tally(seen))).toEqual(['200', '409'])
  })

  test(`exactly one of many concurrent undos of the same change succeeds (${where})`, async () => {
    const { id } = await newTask()
    for (const n of upTo(rounds)) {
      await one.patch(`/tasks/${id}`, { title: `Done ${n}` })
      const seq = await version()
      const answers = await Promise.all(upTo(6).map((i) => undo(i % 2 ? one : other, { seq })))
      expect(statuses(answers)).toEqual({ 200: 1, 409: 5 })
      expect((await one.get(`/tasks/${id}`)).body.title).toBe('T0')
    }
  })

  test(`a child added while the creation of its task is undone either gets 404 or prevents the undo (${where})`, async () => {
    for (const n of upTo(rounds)) {
      const { id } = await newTask()
      const seq = await version()
      const [list, body] = n % 4 < 2 ? ['subtasks', { title: 'S' }] : ['comments', { text: 'C' }]
      const add = () => other.post(`/tasks/${id}/${list}`, body)
      // Other writes keep the project busy, so that both requests wait for the same batch. Their order depends on `n`.
      const busy = upTo(20).map(newTask)
      const added = add()
      for (let turn = 0; turn < n % 6; turn++) await new Promise(setImmediate)
      const undone = await undo(one, { seq })
      await Promise.all(busy)
      const { status } = await one.get(`/tasks/${id}`)
      expect([undone.status, (await added).status, status]).toEqual(
        undone.status === 200 ? [200, 404, 404] : [409, 201, 200],
      )
    }
  })
}

test('after the tests above, the stored rows agree with the logs', async () => {
  expect(await faultsOf(pair.sql)).toEqual([])
  expect(await faultsOf(alone.services.database.reads)).toEqual([])
})
