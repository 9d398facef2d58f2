import { allPages, expectError, invite, make, nextPath, openScene, register, unknownId } from '../kit.ts'
import { upTo } from '../kit.ts'
import type { Body } from '../kit.ts'

const rows = 7
const sorts = ['createdAt', '-createdAt', 'dueDate', '-dueDate']
const { client, ada, host } = await openScene(['Ada', 'Host'])
const projectId = (await make(ada, '/projects', { name: 'Lists' })).id
const task = await make(ada, '/tasks', { title: 'T0', projectId })
for (let i = 1; i < rows; i++) {
  // Several tasks have the same due date or no due date, so a cursor must also compare ids.
  const dueDate = i % 3 === 0 ? null : `2027-01-0${1 + (i % 2)}`
  await make(ada, '/tasks', { title: `T${i}`, projectId, dueDate })
  const { id } = await make(i % 2 ? ada : host, '/projects', { name: `P${i}` })
  if (i % 2 === 0) await invite(host, id, ada)
}
for (let i = 0; i < rows; i++) {
  await make(ada, `/tasks/${task.id}/subtasks`, { title: `S${i}` })
  await make(ada, `/tasks/${task.id}/comments`, { text: `C${i}` })
  await invite(ada, projectId, await register(client))
}
const paths = [
  `/projects/${projectId}/members?`,
  ...['subtasks', 'comments'].map((one) => `/tasks/${task.id}/${one}?`),
  ...sorts.flatMap((sort) => [`/tasks?projectId=${projectId}&sort=${sort}&`, `/tasks?sort=${sort}&`]),
]
const lists = [...paths.map((path) => ({ path, max: 200 })), { path: '/projects?', max: 1_000 }]

const idsOf = (bodies: Body[]) => bodies.map(({ id }) => id)

test('the pages together contain every row once, in the order of the whole list', async () => {
  for (const { path } of lists) {
    const [whole] = (await allPages(ada, path.slice(0, -1))) as [Body[]]
    expect(whole).toHaveLength(rows)
    for (const limit of [1, 2, 3, rows - 1, rows, rows + 1]) {
      const pages = await allPages(ada, `${path}limit=${limit}`)
      expect(pages.flat()).toEqual(whole)
      const lengths = pages.map(({ length }) => length)
      expect(lengths.slice(0, -1)).toEqual(Array(Math.ceil(rows / limit) - 1).fill(limit))
    }
  }
})

test('creating or deleting rows between two pages neither repeats nor hides other rows', async () => {
  const { id } = await make(ada, '/tasks', { title: 'Growing', projectId })
  const add = (title: string) => make(ada, `/tasks/${id}/subtasks`, { title })
  const [a, b, c] = [await add('a'), await add('b'), await add('c')]
  const first = await ada.get(`/tasks/${id}/subtasks?limit=2`)
  await ada.delete(`/tasks/subtasks/${b.id}`)
  const d = await add('d')
  const rest = await allPages(ada, nextPath(first.headers)!)
  expect(idsOf([...first.body, ...rest.flat()])).toEqual([a.id, b.id, c.id, d.id])
  await ada.delete(`/tasks/${id}`)
})

test('tasks are sorted by creation or by due date, tasks without a due date last; a minus sign reverses the order', async () => {
  const list = async (sort: string) => (await ada.get(`/tasks?projectId=${projectId}&sort=${sort}`)).body
  const created = await list('createdAt')
  expect(idsOf(created)).toEqual(idsOf([...created]).sort())
  const key = ({ dueDate, id }: Body) => `${dueDate ?? '9999'} ${id}`
  const due = await list('dueDate')
  expect(due.map(key)).toEqual(due.map(key).sort())
  expect(due.map(({ dueDate }) => dueDate).slice(-3)).toEqual([null, null, null])
  expect(idsOf(await list('-createdAt'))).toEqual(idsOf(created).reverse())
  expect(idsOf(await list('-dueDate'))).toEqual(idsOf(due).reverse())
})

test('limit must be a whole number from 1 to the maximum of the list', async () => {
  for (const { path, max } of lists) {
    for (const limit of ['1', '007', `${max}`])
      expect((await ada.get(`${path}limit=${limit}`)).status).toBe(200)
    for (const limit of ['0', `${max + 1}`, '-1', '1.5', '1e2', '', 'all', 'NaN', '%20', '9'.repeat(400)]) {
      const message = `limit must be a whole number from 1 to ${max}`
      expectError(await ada.get(`${path}limit=${limit}`), 400, message)
    }
  }
})

test('rejects a cursor that the list did not return, and an unknown parameter, with 400', async () => {
  const encode = (key: unknown) => Buffer.from(JSON.stringify(key)).toString('base64url')
  const keys = [[], {}, null, 1, '', [1], ['x'], [null], [unknownId, unknownId, unknownId], [null, null]]
  const dues = ['2027-01-01T00:00:00+23:59', 'infinity', '', '2027-01-01', "'; select 1"]
  const wrong = [...keys, ...dues.map((due) => [due, unknownId])].map(encode)
  wrong.push('', 'x', '%00', 'W10', '[]', 'null', 'A'.repeat(500), 'A'.repeat(501))
  const hints: Record<string, string> = { Limit: '; did you mean limit?' }
  for (const { path } of lists) {
    for (const cursor of wrong) expectError(await ada.get(`${path}cursor=${cursor}`), 400, /^cursor must be/)
    if (path.startsWith('/tasks?')) hints.stauts = '; did you mean status?'
    else delete hints.stauts
    for (const name of ['stauts', 'page', 'Limit', 'offset', 'x'.repeat(200)]) {
      const message = `${name.slice(0, 100)} is not known here${hints[name] ?? ''}`
      expectError(await ada.get(`${path}${name}=1`), 400, message)
    }
  }
  const cursor = nextPath((await ada.get('/tasks?limit=1')).headers)!.replace(/.*cursor=/, '')
  expectError(await ada.get(`/tasks?sort=dueDate&cursor=${cursor}`), 400, /^cursor must be/)
})

test('without the parameter limit a page has 50 rows, and a page of projects contains all rows', async () => {
  const { id } = await make(ada, '/tasks', { title: 'Long', projectId })
  await Promise.all(upTo(51).map((n) => make(ada, `/tasks/${id}/subtasks`, { title: `S${n}` })))
  expect((await allPages(ada, `/tasks/${id}/subtasks`)).map(({ length }) => length)).toEqual([50, 1])
  const grace = await register(client)
  expect((await grace.get('/tasks')).text).toBe('[]')
  await Promise.all(upTo(51).map((n) => make(grace, '/projects', { name: `P${n}` })))
  expect((await allPages(grace, '/projects')).map(({ length }) => length)).toEqual([51])
})
