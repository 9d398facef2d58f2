import { faultsOf, make, newId, openScene, readFeed, upTo } from '../kit.ts'
import { newTask } from './batch-scene.ts'

const { ada, sql } = await openScene(['Ada'])

async function open() {
  const { id: projectId } = await make(ada, '/projects', { name: 'P' })
  const batch = (...operations: object[]) => ada.post(`/projects/${projectId}/batch`, { operations })
  return { projectId, batch }
}

test('the seqs of a batch stay consecutive despite concurrent batches and single writes', async () => {
  const { projectId, batch } = await open()
  const three = (n: number) => batch(newTask(`${n} a`), newTask(`${n} b`), newTask(`${n} c`))
  const single = (n: number) => ada.post('/tasks', { title: `${n}`, projectId })
  const responses = await Promise.all(upTo(60).map((n) => (n % 2 ? three(n) : single(n))))
  for (const { status } of responses) expect(status).toBeLessThan(300)
  const log = await readFeed(ada, `/projects/${projectId}/events?limit=500`)
  expect(log).toHaveLength(1 + 30 * 4)
  const batches = Map.groupBy(log, (event) => event.batch)
  batches.delete(null)
  expect(batches.size).toBe(30)
  for (const [first, inBatch] of batches)
    expect(inBatch.map(({ seq }) => seq)).toEqual([0, 1, 2].map((n) => first! + n))
  expect(await faultsOf(sql)).toEqual([])
})

test('the id of a row that was deleted in the same group commit cannot be used again', async () => {
  const { projectId, batch } = await open()
  for (const _ of upTo(20)) {
    const id = newId()
    const body = { id, title: 'Own', projectId }
    const withLookup = newTask('Its own id is looked up, as for the creates', { id: newId() })
    const [created, deleted, second] = await Promise.all([
      ada.post('/tasks', body),
      batch(withLookup, { op: 'task.delete', id }),
      ada.post('/tasks', body),
    ])
    if (deleted.status === 200) expect([created.status, second.status].sort()).toEqual([201, 409])
  }
  expect(await faultsOf(sql)).toEqual([])
})
