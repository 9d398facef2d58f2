import { isAhead } from '../../src/ids.ts'
import { at, clockShiftedBy, forFile, invite, make, openPair, register, spawnService, upTo } from '../kit.ts'
import { writeCursor } from '../kit.ts'
import type { Body, Person } from '../kit.ts'

const hour = 3_600_000
let projectId: string
// The clock of the second process is two hours slow; the process corrects it by the clock of the database.
const pair = await openPair({ WRITE_SHARDS: '0' }, clockShiftedBy(-2 * hour))
const { atA, atB, sql } = pair
beforeEach(async () => void (projectId = (await make(atA, '/projects', { name: 'Timely' })).id))

async function alternately(work: (user: Person, n: number) => Promise<Body>): Promise<Body[]> {
  const created: Body[] = []
  for (const n of upTo(6)) created.push(await work(n % 2 ? atA : atB, n))
  return created
}
const newTask = (user: Person) => make(user, '/tasks', { title: 'T', projectId })
const isSorted = (values: string[]) => expect(values).toEqual(values.toSorted())

test('rows are listed in the order of their creation, whichever process created them', async () => {
  const { id } = await newTask(atA)
  const lists: [path: string, create: (user: Person) => Promise<Body>][] = [
    [`/tasks?projectId=${projectId}&cursor=${writeCursor([id])}`, newTask],
    [`/tasks/${id}/subtasks`, (user) => make(user, `/tasks/${id}/subtasks`, { title: 'Part' })],
    [`/tasks/${id}/comments`, (user) => make(user, `/tasks/${id}/comments`, { text: 'Words' })],
    [`/projects/${projectId}/members`, async (user) => invite(user, projectId, await register(atA))],
  ]
  for (const [path, create] of lists) {
    const created = await alternately(create)
    expect((await atA.get(path)).body.map((row) => row.id)).toEqual(created.map((row) => row.id))
    isSorted(created.map((row) => row.id))
    isSorted(created.map(({ createdAt }) => createdAt))
  }
  const wentBack = await sql`
    select * from (select seq, type, id, lag(id) over by_seq as id_before, at, lag(at) over by_seq as at_before
      from events window by_seq as (partition by project_id order by seq)) e
    where id <= id_before or at < at_before`
  expect(wentBack).toEqual([] as never)
})

test('a client that continues from its last cursor misses no new task', async () => {
  const read: string[] = []
  let from = ''
  const created = await alternately(async (user) => {
    const task = await newTask(user)
    const { body } = await atA.get(`/tasks?projectId=${projectId}${from}`)
    read.push(...body.map(({ id }) => id))
    from = `&cursor=${writeCursor([read.at(-1)!])}`
    return task
  })
  expect(read).toEqual(created.map(({ id }) => id))
})

test('updatedAt never goes back, even when a task moves to another project', async () => {
  const other = await make(atA, '/projects', { name: 'Elsewhere' })
  const task = await newTask(atA)
  const states = await alternately(async (user, n) => {
    const to = n % 4 < 2 ? other.id : projectId
    return (await user.patch(`/tasks/${task.id}`, { title: `${n}`, projectId: to })).body
  })
  isSorted([task.createdAt, ...states.map(({ updatedAt }) => updatedAt)])
  expect((await make(atB, `/tasks/${task.id}/subtasks`, { title: 'Part' })).id > task.id).toBe(true)
})

test('a process whose clock is a year ahead writes database time and logs a warning', async () => {
  const ahead = await forFile(spawnService('web', { ...pair.env, ...clockShiftedBy(365 * 24 * hour) }))
  const task = await newTask(at(atA, ahead))
  isSorted([task.id, (await newTask(atA)).id])
  expect(Math.abs(Date.parse(task.createdAt) - Date.now())).toBeLessThan(hour)
  const events = await sql<{ id: string }[]>`select id from events where project_id = ${projectId}`
  for (const { id } of events) expect(isAhead(id)).toBe(false)
  expect(ahead.output.join()).toContain("this machine's clock")
})

test('the times of jobs and idempotency records are from the clock of the database', async () => {
  const [, task] = await alternately(newTask)
  const key = (name: string) => ({ 'idempotency-key': name })
  expect((await atB.delete(`/tasks/${task!.id}`, key('one'))).status).toBe(200)
  expect((await atB.post('/auth/logout-all', undefined, key('two'))).status).toBe(200)
  const ages = await sql<{ age: number }[]>`
    select extract(epoch from now() - created_at)::float8 as age
    from (select created_at from outbox union all select created_at from idempotency_keys) kept`
  expect(ages).toHaveLength(3)
  for (const { age } of ages) expect(Math.abs(age)).toBeLessThan(60)
})
