import { at, faultsOf, invite, make, openPair, purgeProject, register, upTo } from '../kit.ts'
import type { Body, Person } from '../kit.ts'

let projectId: string
let task: Body
const pair = await openPair()
beforeEach(async () => {
  projectId = (await make(pair.atA, '/projects', { name: 'Kept' })).id
  task = await make(pair.atA, '/tasks', { title: 'First', projectId })
})

const tables = ['streams', 'projects', 'members', 'tasks', 'events']
const idOf = (table: string) => (table === 'projects' ? 'id' : 'project_id')

/** Copies the project's rows. The returned function restores them, like a backup. */
async function copyProject(): Promise<() => Promise<void>> {
  const { sql } = pair
  const rows = (table: string) => sql`${sql(table)} where ${sql(idOf(table))} = ${projectId}`
  const copies = await Promise.all(
    tables.map(async (table) => {
      const [copy] = await sql`select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text as rows
        from (select * from ${rows(table)}) t`
      return copy!.rows as string
    }),
  )
  return () =>
    sql.begin(async () => {
      for (const [i, table] of tables.entries()) {
        await sql`delete from ${rows(table)}`
        await sql`insert into ${sql(table)}
          select * from jsonb_populate_recordset(null::${sql(table)}, ${copies[i]!}::text::jsonb)`
      }
    })
}

const create = (user: Person, title: string) => make(user, '/tasks', { title, projectId })
const titles = async (user: Person) =>
  (await user.get(`/tasks?projectId=${projectId}`)).body.map(({ title }) => title)
const expectConsistent = async () => expect(await faultsOf(pair.sql)).toEqual([])

test('writes to a purged project return 404 at every process that had cached the project', async () => {
  const { atA, atB, sql } = pair
  for (const user of [atA, atB]) await user.get(`/tasks/${task.id}`)
  await create(atB, 'Second')
  await atA.delete(`/projects/${projectId}`)
  await purgeProject(sql, projectId, { batchRows: 100, pauseMs: 0 })
  for (const user of [atA, atB]) {
    for (const _ of upTo(2)) {
      expect((await user.post('/tasks', { title: 'Late', projectId })).status).toBe(404)
      expect((await user.patch(`/projects/${projectId}`, { name: 'Late' })).status).toBe(404)
      expect((await user.patch(`/tasks/${task.id}`, { title: 'Late' })).status).toBe(404)
      expect((await user.delete(`/projects/${projectId}`)).status).toBe(404)
      expect((await user.get(`/projects/${projectId}`)).status).toBe(404)
    }
  }
})

test('after a restore to an earlier point in time, every process reads and writes the restored rows', async () => {
  const { atA, atB } = pair
  const restore = await copyProject()
  for (const user of [atA, atB, atA]) {
    await create(user, 'Undone')
    await user.patch(`/tasks/${task.id}`, { title: 'Undone' })
    expect(await titles(user)).toContain('Undone')
  }
  await restore()
  for (const user of [atA, atB]) {
    expect(await titles(user)).toEqual(['First'])
    expect((await user.get(`/tasks/${task.id}`)).body).toEqual(task)
    expect((await user.patch(`/tasks/${task.id}`, { title: 'First' })).status).toBe(200)
  }
  expect((await create(atB, 'Second')).number).toBe(2)
  expect((await create(atA, 'Third')).number).toBe(3)
  for (const user of [atA, atB]) expect(await titles(user)).toEqual(['First', 'Second', 'Third'])
  await expectConsistent()
})

test('after a restore, data that was cached for a version is not used when a new event has the same version', async () => {
  const { atA, atB } = pair
  const bea = await register(atA)
  const beaAtB = at(bea, pair.b)
  const restore = await copyProject()
  await invite(atB, projectId, bea, 'EDITOR')
  await create(atB, 'Undone')
  const path = `/tasks?projectId=${projectId}`
  const [list, hers] = [await atB.get(path), await beaAtB.get(path)]
  expect([list.status, hers.status]).toEqual([200, 200])

  await restore()
  await create(atA, 'Second')
  await create(atA, 'Third')
  expect((await beaAtB.get(path)).status).toBe(404)
  expect((await beaAtB.post('/tasks', { title: 'Hers', projectId })).status).toBe(404)
  const known = { 'if-none-match': list.headers.get('etag') ?? '' }
  expect((await atB.get(path, known)).status).toBe(200)
  expect(await titles(atB)).toEqual(['First', 'Second', 'Third'])
  expect((await create(atB, 'Fourth')).number).toBe(4)
  await expectConsistent()
})

test('after a restore, the feed rejects a cursor ahead of the log with 400, and accepts the version of a new list', async () => {
  const { atA, atB } = pair
  const restore = await copyProject()
  await create(atA, 'Undone')
  const events = (after: number) => atB.get(`/projects/${projectId}/events?after=${after}`)
  expect((await events(2)).body.map(({ id }) => id)).toHaveLength(1)
  await restore()
  expect(await events(3)).toMatchObject({ status: 400, body: { message: expect.stringContaining('ahead') } })
  const version = Number((await atB.get(`/tasks?projectId=${projectId}`)).headers.get('docket-version'))
  expect([version, (await events(version)).text]).toEqual([2, '[]'])
  await create(atA, 'Second')
  expect((await events(version)).body).toMatchObject([{ seq: 3, after: { title: 'Second' } }])
})

test('after a restore to another log of the same length, a write changes the current rows, not the cached rows', async () => {
  const { atA, atB } = pair
  const path = `/tasks/${task.id}`
  const restore = await copyProject()
  expect((await atB.patch(path, { title: 'Other' })).status).toBe(200)
  const toOther = await copyProject()
  const version = async () => Number((await atA.get(path)).headers.get('docket-version'))
  const remembered = await version()
  const remember = async () => {
    await restore()
    expect((await atA.patch(path, { title: 'Undone' })).body).toMatchObject({ title: 'Undone' })
    await toOther()
  }
  await remember()
  expect((await atA.patch(path, { title: 'Undone' })).body).toMatchObject({ title: 'Undone' })
  expect([await version(), (await atB.get(path)).body.title]).toEqual([remembered + 1, 'Undone'])
  await remember()
  expect((await atA.patch(path, { description: 'More' })).body).toMatchObject({ title: 'Other' })
  await remember()
  const target = await make(atA, '/projects', { name: 'Target' })
  expect((await atA.patch(path, { projectId: target.id })).body).toMatchObject({ title: 'Other' })
  await expectConsistent()
})

test('after a failover to a different log, a cached task is not used', async () => {
  const { atA, sql } = pair
  const read = async () => (await atA.get(`/tasks/${task.id}`)).body
  expect(await read()).toEqual(task)
  // The rows of a log in which another event has the task's seq.
  await sql`update tasks set title = 'Other', event_id = project_id where id = ${task.id}`
  await sql`update streams set version = version + 1 where project_id = ${projectId}`
  expect(await read()).toEqual({ ...task, title: 'Other' })
})
