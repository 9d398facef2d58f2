import { isAhead } from '../../src/ids.ts'
import { at, clockShiftedBy, invite, make, openPair, register, spawnService, upTo } from '../kit.ts'
import { writeCursor } from '../kit.ts'
import type { Body, Person } from '../kit.ts'

const hour = 3_600_000
let project: Body
// The clock of the second process is two hours slow; the process corrects it by the clock of the database.
const pair = await openPair({ WRITE_SHARDS: '0' }, clockShiftedBy(-2 * hour))
const writers: Person[] = upTo(3).flatMap(() => [pair.atA, pair.atB])
beforeEach(async () => void (project = await make(pair.atA, '/projects', { name: 'Timely' })))

async function alternately(work: (user: Person, n: number) => Promise<Body>): Promise<Body[]> {
  const created: Body[] = []
  for (const [n, user] of writers.entries()) created.push(await work(user, n))
  return created
}

const isSorted = (values: string[]) => expect(values).toEqual(values.toSorted())

async function expectOrder(created: Body[], path: string): Promise<void> {
  expect((await pair.atA.get(path)).body.map(({ id }) => id)).toEqual(created.map(({ id }) => id))
  isSorted(created.map(({ id }) => id))
  isSorted([project, ...created].flatMap(({ createdAt }) => createdAt ?? []))
}

test('tasks are listed in the order of their creation, whichever process created them', async () => {
  const create = (user: Person, n: number) => make(user, '/tasks', { title: `${n}`, projectId: project.id })
  await expectOrder(await alternately(create), `/tasks?projectId=${project.id}`)
})

test('subtasks, comments and members are listed in the order of their creation', async () => {
  const task = await make(pair.atA, '/tasks', { title: 'Parent', projectId: project.id })
  for (const [path, body] of [
    ['subtasks', { title: 'Part' }],
    ['comments', { text: 'Words' }],
  ] as const) {
    const created = await alternately((user) => make(user, `/tasks/${task.id}/${path}`, body))
    await expectOrder(created, `/tasks/${task.id}/${path}`)
  }
  const members = await alternately(async (user) => invite(user, project.id, await register(pair.atA)))
  await expectOrder(members, `/projects/${project.id}/members`)
})

test('a client that continues from its last cursor misses no new task', async () => {
  const read: string[] = []
  let from = ''
  await alternately(async (user, n) => {
    const task = await make(user, '/tasks', { title: `${n}`, projectId: project.id })
    const { body } = await pair.atA.get(`/tasks?projectId=${project.id}${from}`)
    read.push(...body.map(({ id }) => id))
    for (const { id } of body) from = `&cursor=${writeCursor([id])}`
    return task
  })
  expect(read).toHaveLength(writers.length)
})

test('updatedAt never goes back, even when a task moves to another project', async () => {
  const other = await make(pair.atA, '/projects', { name: 'Elsewhere' })
  const task = await make(pair.atA, '/tasks', { title: 'Moving', projectId: project.id })
  const states = await alternately(async (user, n) => {
    const projectId = n % 4 < 2 ? other.id : project.id
    return (await user.patch(`/tasks/${task.id}`, { title: `${n}`, projectId })).body
  })
  isSorted([task.createdAt, ...states.map(({ updatedAt }) => updatedAt)])
  const part = await make(pair.atB, `/tasks/${task.id}/subtasks`, { title: 'Part' })
  expect(part.id > task.id).toBe(true)
})

test('ids and times of events never go back within a project', async () => {
  await alternately((user, n) => make(user, '/tasks', { title: `${n}`, projectId: project.id }))
  const wentBack = await pair.sql`
    select * from (select seq, type, id, lag(id) over by_seq as id_before, at, lag(at) over by_seq as at_before
      from events window by_seq as (partition by project_id order by seq)) e
    where id <= id_before or at < at_before`
  expect(wentBack).toEqual([] as never)
})

test('a process whose clock is a year ahead writes database time and logs a warning', async () => {
  const ahead = await spawnService('web', { ...pair.env, ...clockShiftedBy(365 * 24 * hour) })
  try {
    const task = await make(at(pair.atA, ahead), '/tasks', { title: 'Early', projectId: project.id })
    const later = await make(pair.atA, '/tasks', { title: 'Later', projectId: project.id })
    expect(Math.abs(Date.parse(task.createdAt) - Date.now())).toBeLessThan(hour)
    expect([task.id, later.id].toSorted()).toEqual([task.id, later.id])
    const events = await pair.sql<{ id: string }[]>`select id from events where project_id = ${project.id}`
    for (const { id } of events) expect(isAhead(id)).toBe(false)
    expect(ahead.output.join()).toContain("this machine's clock")
  } finally {
    await ahead.stop('SIGKILL')
  }
})

test('the times of jobs and idempotency records are from the clock of the database', async () => {
  const key = (name: string) => ({ 'idempotency-key': name })
  const [task] = await alternately((user) => make(user, '/tasks', { title: 'Short', projectId: project.id }))
  expect((await pair.atB.delete(`/tasks/${task!.id}`, key('one'))).status).toBe(200)
  expect((await pair.atB.post('/auth/logout-all', undefined, key('two'))).status).toBe(200)
  const ages = await pair.sql<{ age: number }[]>`
    select extract(epoch from now() - created_at)::float8 as age
    from (select created_at from outbox union all select created_at from idempotency_keys) kept`
  expect(ages).toHaveLength(3)
  for (const { age } of ages) expect(Math.abs(age)).toBeLessThan(60)
})
