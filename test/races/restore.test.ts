import { at, faultsOf, invite, make, openPair, purgeProject, register, versionOf } from '../kit.ts'
import type { Answer, Body, Person } from '../kit.ts'

let projectId: string
let task: Body
const pair = await openPair()
const { atA, atB, sql } = pair
const both = [atA, atB]
beforeEach(async () => {
  projectId = (await make(atA, '/projects', { name: 'Kept' })).id
  task = await make(atA, '/tasks', { title: 'First', projectId })
})
afterEach(async () => expect(await faultsOf(sql)).toEqual([]))

/** Copies the rows of a project. The returned function restores them, like a backup. */
async function copyProject(id = projectId): Promise<() => Promise<void>> {
  const rows = (table: string) =>
    sql`${sql(table)} where ${sql(table === 'projects' ? 'id' : 'project_id')} = ${id}`
  const copies = await Promise.all(
    ['streams', 'projects', 'members', 'tasks', 'events'].map(async (table) => {
      const [copy] = await sql`select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text as rows
        from (select * from ${rows(table)}) t`
      return [table, copy!.rows as string] as const
    }),
  )
  return () =>
    sql.begin(async () => {
      for (const [table, copy] of copies) {
        await sql`delete from ${rows(table)}`
        await sql`insert into ${sql(table)}
          select * from jsonb_populate_recordset(null::${sql(table)}, ${copy}::text::jsonb)`
      }
    })
}

const create = (user: Person, title: string) => make(user, '/tasks', { title, projectId })
const list = () => `/tasks?projectId=${projectId}`
const titles = async (user: Person) => (await user.get(list())).body.map(({ title }) => title)

test('writes to a purged project return 404 at every process that had cached the project', async () => {
  for (const user of both) await user.get(`/tasks/${task.id}`)
  await create(atB, 'Second')
  await atA.delete(`/projects/${projectId}`)
  await purgeProject(sql, projectId, { batchRows: 100, pauseMs: 0 })
  for (const user of [...both, ...both]) {
    const answers = [
      await user.post('/tasks', { title: 'Late', projectId }),
      await user.patch(`/projects/${projectId}`, { name: 'Late' }),
      await user.patch(`/tasks/${task.id}`, { title: 'Late' }),
      await user.delete(`/projects/${projectId}`),
      await user.get(`/projects/${projectId}`),
    ]
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404])
  }
})

test('after a restore to an earlier point in time, every process reads and writes the restored rows', async () => {
  const restore = await copyProject()
  for (const user of [atA, atB, atA]) {
    await create(user, 'Undone')
    await user.patch(`/tasks/${task.id}`, { title: 'Undone' })
    expect(await titles(user)).toContain('Undone')
  }
  await restore()
  for (const user of both) {
    expect(await titles(user)).toEqual(['First'])
    expect((await user.get(`/tasks/${task.id}`)).body).toEqual(task)
    expect((await user.patch(`/tasks/${task.id}`, { title: 'First' })).status).toBe(200)
  }
  for (const [n, user] of [atB, atA].entries()) expect((await create(user, `${n}`)).number).toBe(n + 2)
  for (const user of both) expect(await titles(user)).toEqual(['First', '0', '1'])
})

test('after a restore, data that was cached for a version is not used when a new event has the same version', async () => {
  const bea = at(await register(atA), pair.b)
  const restore = await copyProject()
  await invite(atB, projectId, bea, 'EDITOR')
  await create(atB, 'Undone')
  const [known, hers] = [await atB.get(list()), await bea.get(list())]
  expect([known.status, hers.status]).toEqual([200, 200])
  await restore()
  for (const title of ['Second', 'Third']) await create(atA, title)
  expect((await bea.get(list())).status).toBe(404)
  expect((await bea.post('/tasks', { title: 'Hers', projectId })).status).toBe(404)
  expect((await atB.get(list(), { 'if-none-match': known.headers.get('etag')! })).status).toBe(200)
  expect(await titles(atB)).toEqual(['First', 'Second', 'Third'])
  expect((await create(atB, 'Fourth')).number).toBe(4)
})

test('after a restore, the feed rejects a cursor ahead of the log with 400, and accepts the version of a new list', async () => {
  const restore = await copyProject()
  await create(atA, 'Undone')
  const events = (after: number) => atB.get(`/projects/${projectId}/events?after=${after}`)
  expect((await events(2)).body).toHaveLength(1)
  await restore()
  expect(await events(3)).toMatchObject({ status: 400, body: { message: expect.stringContaining('ahead') } })
  const version = await versionOf(atB, projectId)
  expect([version, (await events(version)).text]).toEqual([2, '[]'])
  await create(atA, 'Second')
  expect((await events(version)).body).toMatchObject([{ seq: 3, after: { title: 'Second' } }])
})

test('after a restore to another log of the same length, a write changes the current rows, not the cached rows', async () => {
  const path = `/tasks/${task.id}`
  const restore = await copyProject()
  expect((await atB.patch(path, { title: 'Other' })).status).toBe(200)
  const toOther = await copyProject()
  const version = await versionOf(atA, projectId)
  const { id: target } = await make(atA, '/projects', { name: 'Target' })
  for (const [change, title] of [
    [{ title: 'Undone' }, 'Undone'],
    [{ description: 'More' }, 'Other'],
    [{ projectId: target }, 'Other'],
  ] as const) {
    await restore()
    expect((await atA.patch(path, { title: 'Undone' })).body).toMatchObject({ title: 'Undone' })
    await toOther()
    expect((await atA.patch(path, change)).body).toMatchObject({ title })
    expect([await versionOf(atA, projectId), (await atB.get(path)).body.title]).toEqual([version + 1, title])
  }
})

test('after a failover to a different log, a cached task is not used', async () => {
  const read = async () => (await atA.get(`/tasks/${task.id}`)).body
  expect(await read()).toEqual(task)
  // The rows of a log in which another event has the task's seq.
  await sql`update tasks set title = 'Other', event_id = project_id where id = ${task.id}`
  await sql`update streams set version = version + 1 where project_id = ${projectId}`
  expect(await read()).toEqual({ ...task, title: 'Other' })
  // So that the check of all logs leaves this project out.
  await sql`delete from projects where id = ${projectId}`
})

/** Creates a project whose process knows a task from a second event that a failover then loses: another event replaces it. */
async function openLost() {
  const { id } = await make(atA, '/projects', { name: 'Old' })
  const restore = await copyProject(id)
  await atA.patch(`/projects/${id}`, { name: 'Renamed' })
  const failOver = await copyProject(id)
  await restore()
  const lost = await make(atA, '/tasks', { title: 'Lost', projectId: id })
  expect((await atA.patch(`/tasks/${lost.id}`, { title: 'Lost' })).status).toBe(200)
  return { id, path: `/tasks/${lost.id}`, failOver }
}

type Lost = Awaited<ReturnType<typeof openLost>>
type Write = (here: Lost, other: Lost) => Promise<Answer>
test.each<[string, outcome: [status: number, number?: number], Write]>([
  ['an update', [404], (here) => atA.patch(here.path, { title: 'Changed' })],
  ['a create', [201, 1], ({ id }) => atA.post('/tasks', { title: 'Next', projectId: id })],
  ['a move out', [404], (here, other) => atA.patch(here.path, { projectId: other.id })],
  ['a move in', [200, 1], ({ id }, other) => atA.patch(other.path, { projectId: id })],
])(
  '%s uses the log after a failover that lost the last event that the process knew',
  async (_, outcome, write) => {
    const [here, other] = [await openLost(), await openLost()]
    await here.failOver()
    const { status, body } = await write(here, other)
    expect([status, body.number]).toEqual([outcome[0], outcome[1]] as never)
  },
)
