import { allPages, expectError, expectResponse, invite, make, malformedIds, nextPath } from '../kit.ts'
import { openScene, register, unknownId, upTo } from '../kit.ts'
import type { Body, Person } from '../kit.ts'

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
]
for (const sort of sorts) paths.push(`/tasks?projectId=${projectId}&sort=${sort}&`, `/tasks?sort=${sort}&`)
const lists: { path: string; max: number }[] = paths.map((path) => ({ path, max: 200 }))
lists.push({ path: '/projects?', max: 1_000 })

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
  expect(await list('')).toMatchObject({ statusCode: 400 })
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

test('rejects a cursor that the list did not return with 400', async () => {
  const encode = (key: unknown) => Buffer.from(JSON.stringify(key)).toString('base64url')
  const keys = [[], {}, null, 1, '', [1], ['x'], [null], [unknownId, unknownId, unknownId], [null, null]]
  const dues = ['2027-01-01T00:00:00+23:59', 'infinity', '', '2027-01-01', "'; select 1"]
  const wrong = [...keys, ...dues.map((due) => [due, unknownId])].map(encode)
  wrong.push('', 'x', '%00', 'W10', '[]', 'null', 'A'.repeat(500))
  for (const { path } of lists) {
    for (const cursor of wrong) expectError(await ada.get(`${path}cursor=${cursor}`), 400, /^cursor must be/)
    expectError(await ada.get(`${path}cursor=${'A'.repeat(501)}`), 400, /^cursor must be/)
  }
  const byId = (await ada.get('/tasks?limit=1')).headers
  const cursor = nextPath(byId)!.replace(/.*cursor=/, '')
  expectError(await ada.get(`/tasks?sort=dueDate&cursor=${cursor}`), 400, /^cursor must be/)
})

test('rejects an unknown parameter with 400 and suggests the nearest name', async () => {
  for (const { path } of lists)
    for (const name of ['stauts', 'page', 'Limit', 'offset', 'x'.repeat(200)]) {
      const answer = await ada.get(`${path}${name}=1`)
      const suggestion = { stauts: '; did you mean status?', Limit: '; did you mean limit?' }[name] ?? ''
      const hint = name === 'stauts' && !path.startsWith('/tasks?') ? '' : suggestion
      expectError(answer, 400, `${name.slice(0, 100)} is not known here${hint}`)
    }
})

test('without the parameter limit a page has 50 rows, and a page of projects contains all rows', async () => {
  const { id } = await make(ada, '/tasks', { title: 'Long', projectId })
  const add = (title: string) => make(ada, `/tasks/${id}/subtasks`, { title })
  await Promise.all(Array.from({ length: 51 }, (_, i) => add(`S${i}`)))
  expect((await allPages(ada, `/tasks/${id}/subtasks`)).map(({ length }) => length)).toEqual([50, 1])
  const grace = await register(client)
  await Promise.all(Array.from({ length: 51 }, (_, i) => make(grace, '/projects', { name: `P${i}` })))
  expect((await allPages(grace, '/projects')).map(({ length }) => length)).toEqual([51])
})

const dues = [null, '2027-01-01T00:00:00.000Z', '2027-01-02T12:00:00.000Z', '2027-01-03T00:00:00.000Z']
const [eve, bob] = (await Promise.all([register(client), register(client)])) as [Person, Person]
const first = (await make(eve, '/projects', { name: 'First' })).id
const second = (await make(eve, '/projects', { name: 'Second' })).id
await invite(eve, first, bob, 'EDITOR')
let n = 0
for (const status of ['TODO', 'IN_PROGRESS', 'DONE'])
  for (const priority of ['LOW', 'MEDIUM', 'HIGH'])
    for (const dueDate of dues) {
      const projectId = n++ % 2 ? second : first
      const assigneeId = [null, eve.id, projectId === first ? bob.id : null][n % 3]
      await make(eve, '/tasks', { title: `T${n}`, projectId, status, priority, dueDate, assigneeId })
    }
const all: Body[] = (await allPages(eve, '/tasks?limit=200')).flat()
const bobsProject = await make(bob, '/projects', { name: "Bob's own" })
await make(bob, '/tasks', { title: 'Hidden from Ada', projectId: bobsProject.id, assigneeId: bob.id })

type Matches = (task: Body) => boolean
const sortedIds = (tasks: Body[]) => tasks.map(({ id }) => id).sort()

async function expectExactly(query: string, matches: Matches, client: Person = eve) {
  const pages = await allPages(client, `/tasks?${query}&limit=5`)
  expect(sortedIds(pages.flat())).toEqual(sortedIds(all.filter(matches)))
}

test("a list across projects contains exactly the tasks of the caller's projects", async () => {
  expect(all).toHaveLength(36)
  await expectExactly('', () => true)
  const { body } = await bob.get('/tasks?limit=200')
  expect(body.filter(({ projectId }) => projectId === first)).toHaveLength(18)
  expect(body).toHaveLength(19)
  expectResponse(await (await register(client)).get('/tasks'), 200, [])
})

test('pages smaller than the number of projects contain every task, in every order', async () => {
  const carl = await register(client)
  const open = (n: number) => make(carl, '/projects', { name: `P${n}` })
  const projects = await Promise.all(upTo(6).map(open))
  for (let n = 0; n < 18; n++) {
    const dueDate = n % 4 === 0 ? null : `2027-01-${10 + ((n * 5) % 18)}`
    const projectId = projects[(n * n) % 5]!.id
    await make(carl, '/tasks', { title: `T${n}`, projectId, dueDate, priority: n % 3 ? 'LOW' : 'HIGH' })
  }
  for (const sort of ['createdAt', '-createdAt', 'dueDate', '-dueDate'])
    for (const filter of ['', '&priority=LOW', '&dueAfter=2027-01-14']) {
      const path = `/tasks?sort=${sort}${filter}`
      const whole = (await carl.get(path)).body
      expect(whole.length).toBeGreaterThan(8)
      for (const limit of [1, 2, 4])
        expect((await allPages(carl, `${path}&limit=${limit}`)).flat()).toEqual(whole)
    }
})

test('dueAfter and dueBefore exclude tasks that are due exactly at the given time', async () => {
  const range = `dueAfter=2027-01-01&dueBefore=2027-01-03T00:00:00.001Z`
  await expectExactly(range, ({ dueDate }) => dueDate === dues[2] || dueDate === dues[3])
  await expectExactly('dueBefore=2027-01-01', () => false)
  await expectExactly('dueAfter=2027-01-03', () => false)
  await expectExactly('dueBefore=2027-01-01T01:00:00%2B00:30', ({ dueDate }) => dueDate === dues[1])
})

test('by default, a list with a due date filter is sorted by due date', async () => {
  const dueOf = (tasks: Body[]) => tasks.map(({ dueDate }) => dueDate as string)
  const due = dueOf((await eve.get('/tasks?dueAfter=2026-01-01')).body)
  expect(due).toEqual([...due].sort())
  const { body } = await eve.get('/tasks?dueAfter=2026-01-01&sort=createdAt')
  expect(body.map(({ id }) => id)).toEqual(sortedIds(body))
})

test('rejects an invalid filter with 400', async () => {
  const expectRejected = async (name: string, values: string[], message: RegExp) => {
    for (const value of values) expectError(await eve.get(`/tasks?${name}=${value}`), 400, message)
  }
  await expectRejected('status', ['', 'todo', 'OPEN', 'TODO,DONE'], /^status must be one of/)
  await expectRejected('priority', ['', 'low', 'URGENT'], /^priority must be one of/)
  await expectRejected('sort', ['', 'title', 'createdAt,dueDate', '--dueDate'], /^sort must be one of/)
  expectError(await eve.get('/tasks?sort=position'), 400, /^sort=position needs a projectId/)
  const wrongIds = malformedIds.filter((id) => id !== 'me')
  await expectRejected('assigneeId', ['', 'Me', ...wrongIds], /^assigneeId must be/)
})

test("filtering by another account's project gets 404, and by an assignee without tasks an empty list", async () => {
  const stranger = await register(client)
  for (const id of ['', unknownId, ...malformedIds])
    expectError(await eve.get(`/tasks?projectId=${id}`), 404, 'Project not found')
  expectError(await stranger.get(`/tasks?projectId=${first}`), 404, 'Project not found')
  expectResponse(await eve.get(`/tasks?assigneeId=${unknownId}`), 200, [])
})
