import fc from 'fast-check'
import { cases, faultsOf, openUndoScene, purgeTask } from '../kit.ts'
import type { Answer, Body, UndoResponse } from '../kit.ts'
import { assertInTime } from './random-requests.ts'
import { forgetAll } from './states.ts'

const scene = await openUndoScene()

async function purgeRows() {
  const owed = await scene.sql<{ data: { taskId: string; eventId: string } }[]>`
    select data from outbox where name = 'purge-task' order by id`
  for (const { data } of owed) await purgeTask(scene.sql, data, { batchRows: 100, pauseMs: 0 })
}

const lists = { comments: 'text', subtasks: 'title' } as const
const rowsOf = async (list: string): Promise<Body[]> => {
  const { status, body } = await scene.ada.get(`/tasks/${scene.task.id}/${list}`)
  return status === 200 ? (body as unknown as Body[]) : []
}
const childrenNow = () => Promise.all(Object.keys(lists).map(rowsOf))

const step = fc.record({
  verb: fc.constantFrom('add', 'remove', 'change', 'delete', 'undo', 'undo', 'undo'),
  list: fc.constantFrom('comments' as const, 'subtasks' as const),
  /** The distances of the events to undo from the latest event. */
  back: fc.uniqueArray(fc.nat({ max: 5 }), { minLength: 1, maxLength: 5, size: 'max' }),
  isRemoved: fc.boolean(),
})
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

async function change({ verb, list, back }: Step) {
  const { ada, task } = scene
  if (verb === 'delete') return ada.delete(`/tasks/${task.id}`)
  const fields = { [lists[list]]: `C${back[0]}` }
  if (verb === 'add') return ada.post(`/tasks/${task.id}/${list}`, fields)
  const [one] = await rowsOf(list)
  if (one && verb === 'remove') return ada.delete(`/tasks/${list}/${one.id}`)
  return one && ada.patch(`/tasks/${list}/${one.id}`, fields)
}

const summaryOf = ({ status, body }: Answer) =>
  status === 200
    ? (body as unknown as UndoResponse).changes.map(({ type, undoes }) => `${type} ${undoes}`)
    : body.message
const statusCounts = { 200: 0, 409: 0 }

async function undo({ back, isRemoved }: Step) {
  const version = await scene.version()
  const seqs = back.map((n) => version - n).filter((seq) => seq > 1)
  if (seqs.length === 0) return
  const dryRun = async () => summaryOf(await scene.undo({ seqs }, scene.ada, '?dryRun=true'))
  const [before, expected] = [await childrenNow(), await dryRun()]
  await purgeRows()
  expect(await dryRun()).toEqual(expected)
  const answer = await scene.undo({ seqs })
  expect(summaryOf(answer)).toEqual(expected)
  statusCounts[answer.status as 200 | 409]++
  const after = await childrenNow()
  await purgeRows()
  expect(await childrenNow()).toEqual(after)
  if (answer.status !== 200 || isRemoved) return
  const [{ seq, batch }] = (answer.body as unknown as UndoResponse).changes as [
    UndoResponse['changes'][number],
  ]
  expect((await scene.undo(batch === null ? { seq } : { batch })).status).toBe(200)
  expect(withoutTimes(await childrenNow())).toEqual(withoutTimes(before))
}
const withoutTimes = (all: Body[][]) => all.map((list) => list.map(({ updatedAt: _, ...row }) => row))

test('an undo of several events has the same result before and after workers purge rows, and can be undone', async () => {
  const requestWaves = fc.array(step, { minLength: 8, maxLength: 20, size: 'max' })
  const property = fc.asyncProperty(requestWaves, async (steps) => {
    await forgetAll(scene.sql)
    await scene.setUp()
    await scene.addChildren(scene.task.id)
    for (const step of steps) {
      if (step.isRemoved) await purgeRows()
      await (step.verb === 'undo' ? undo(step) : change(step))
    }
    await purgeRows()
    expect(await faultsOf(scene.sql)).toEqual([])
  })
  const isCovered = () => Math.min(...Object.values(statusCounts)) > 0
  await assertInTime(property, { numRuns: cases(12), withinMs: 30_000, isCovered })
  expect(statusCounts).not.toContainValue(0)
})

test.each([false, true])(
  'one undo of two deletions and the restore between them restores all children, if rows are purged: %p',
  async (isPurged) => {
    await forgetAll(scene.sql)
    await scene.setUp()
    await scene.addChildren(scene.task.id)
    const before = withoutTimes(await childrenNow())
    const deletion = async () => {
      await scene.ada.delete(`/tasks/${scene.task.id}`)
      return scene.version()
    }
    const first = await deletion()
    expect((await scene.undo({ seq: first })).status).toBe(200)
    const last = await deletion()
    if (isPurged) await purgeRows()
    expect((await scene.undo({ seqs: [first, first + 1, last] })).status).toBe(200)
    await purgeRows()
    expect(withoutTimes(await childrenNow())).toEqual(before)
  },
)
