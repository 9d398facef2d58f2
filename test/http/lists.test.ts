import { allPages, expectError, make, nextPath, openTeam, register, unknownId, upTo } from '../kit.ts'
import { createRows, pathOf, readCalls } from './operations.ts'

const { client, sql, people, owner, guest } = await openTeam(['Guest'])
const { calls } = await readCalls(client)
const rows = await createRows(people, guest, sql)

/** The paths of all lists with the parameter, each with a beginning of a query. */
const listsWith = (parameter: string) =>
  calls.flatMap((call) => {
    const path = pathOf(call, rows)
    const found = call.operation.parameters.find(({ name }) => name === parameter)
    return found ? [{ path: `${path}${path.includes('?') ? '&' : '?'}`, max: found.schema.maximum }] : []
  })

test('limit must be a whole number from 1 to the maximum of the list', async () => {
  const lists = listsWith('limit')
  expect(lists).toHaveLength(18)
  for (const { path, max = 0 } of lists) {
    for (const limit of ['1', '007', `${max}`])
      expect([path, (await owner.get(`${path}limit=${limit}`)).status]).toEqual([path, 200])
    for (const limit of ['0', `${max + 1}`, '-1', '1.5', '1e2', '', 'all', 'NaN', '%20', '9'.repeat(400)]) {
      const message = `limit must be a whole number from 1 to ${max}`
      expectError(await owner.get(`${path}limit=${limit}`), 400, message)
    }
  }
})

test('rejects a cursor that the list did not return with 400', async () => {
  const encode = (key: unknown) => Buffer.from(JSON.stringify(key)).toString('base64url')
  const keys = [[], {}, null, 1, '', [1], ['x'], [null], [unknownId, unknownId, unknownId], [null, null]]
  const dues = ['2027-01-01T00:00:00+23:59', 'infinity', '', '2027-01-01', "'; select 1"]
  const wrong = [...keys, ...dues.map((due) => [due, unknownId])].map(encode)
  wrong.push('', 'x', '%00', 'W10', '[]', 'null', 'A'.repeat(500), 'A'.repeat(501))
  const lists = listsWith('cursor').flatMap(({ path }) =>
    path.startsWith('/tasks?') ? [path, `${path}sort=dueDate&`, `${path}sort=-createdAt&`] : [path],
  )
  expect(lists.length).toBeGreaterThan(10)
  for (const path of lists)
    for (const cursor of wrong)
      expectError(await owner.get(`${path}cursor=${cursor}`), 400, /^cursor must be/)
  await make(owner, '/tasks', { title: 'Second', projectId: rows.projectId })
  const cursor = nextPath((await owner.get('/tasks?limit=1')).headers)!.replace(/.*cursor=/, '')
  expectError(await owner.get(`/tasks?sort=dueDate&cursor=${cursor}`), 400, /^cursor must be/)
})

test('without the parameter limit a page has 50 rows, and a page of projects contains all rows', async () => {
  const subtasks = `/tasks/${rows.taskId}/subtasks`
  await Promise.all(upTo(50).map((n) => make(owner, subtasks, { title: `S${n}` })))
  expect((await allPages(owner, subtasks)).map(({ length }) => length)).toEqual([50, 1])
  const grace = await register(client)
  expect((await grace.get('/tasks')).text).toBe('[]')
  await Promise.all(upTo(51).map((n) => make(grace, '/projects', { name: `P${n}` })))
  expect((await allPages(grace, '/projects')).map(({ length }) => length)).toEqual([51])
})

test('the version of counts is the version of their tasks while others write', async () => {
  const { id } = await make(owner, '/projects', { name: 'Busy' })
  const seen = new Map<number, number>()
  let isWriting = true
  const writing = (async () => {
    for (const n of upTo(60)) await make(owner, '/tasks', { projectId: id, title: `T${n}` })
    isWriting = false
  })()
  while (isWriting) {
    const { body } = await owner.get(`/tasks/counts?projectId=${id}`)
    const { version, total } = body as unknown as { version: number; total: number }
    seen.set(version, total)
  }
  await writing
  for (const [version, total] of seen) expect([version, total]).toEqual([version, version - 1])
  expect(seen.size).toBeGreaterThan(5)
})
