import { isAhead } from '../../src/ids.ts'
import { clockShiftedBy, make, openPair, writeCursor } from '../kit.ts'

const hour = 3_600_000
// The clock of the second process is a year fast.
const { atA, atB, sql } = await openPair({ WRITE_SHARDS: '0' }, clockShiftedBy(365 * 24 * hour))

test('a process whose clock is a year ahead writes database time', async () => {
  const { id: projectId } = await make(atA, '/projects', { name: 'Timely' })
  const created: string[] = []
  let from = ''
  // A client that continues from its last cursor misses no task, whichever process created the task.
  for (const by of [atB, atA, atB, atA]) {
    const { id, createdAt } = await make(by, '/tasks', { title: 'T', projectId })
    expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(hour)
    created.push(id)
    const { body } = await atA.get(`/tasks?projectId=${projectId}${from}`)
    expect(body.map((one) => one.id)).toEqual([id])
    from = `&cursor=${writeCursor([id])}`
  }
  expect(created).toEqual(created.toSorted())
  const events = await sql<{ id: string }[]>`select id from events where project_id = ${projectId}`
  for (const { id } of events) expect(isAhead(id)).toBe(false)

  const key = (name: string) => ({ 'idempotency-key': name })
  expect((await atB.delete(`/tasks/${created[0]}`, key('one'))).status).toBe(200)
  expect((await atB.post('/auth/logout-all', undefined, key('two'))).status).toBe(200)
  const ages = await sql<{ age: number }[]>`
    select extract(epoch from now() - created_at)::float8 as age
    from (select created_at from outbox union all select created_at from idempotency_keys) stored`
  expect(ages).toHaveLength(3)
  for (const { age } of ages) expect(Math.abs(age)).toBeLessThan(60)
})
