import { allPages, expectError, expectResponse, invite, make, malformedIds, openScene } from '../kit.ts'
import { register, unknownId, upTo } from '../kit.ts'
import type { Body, Person } from '../kit.ts'

const dues = [null, '2027-01-01T00:00:00.000Z', '2027-01-02T12:00:00.000Z', '2027-01-03T00:00:00.000Z']
const { client } = await openScene()
const [ada, bob] = (await Promise.all([register(client), register(client)])) as [Person, Person]
const first = (await make(ada, '/projects', { name: 'First' })).id
const second = (await make(ada, '/projects', { name: 'Second' })).id
await invite(ada, first, bob, 'EDITOR')
let n = 0
for (const status of ['TODO', 'IN_PROGRESS', 'DONE'])
  for (const priority of ['LOW', 'MEDIUM', 'HIGH'])
    for (const dueDate of dues) {
      const projectId = n++ % 2 ? second : first
      const assigneeId = [null, ada.id, projectId === first ? bob.id : null][n % 3]
      await make(ada, '/tasks', { title: `T${n}`, projectId, status, priority, dueDate, assigneeId })
    }
const all: Body[] = (await allPages(ada, '/tasks?limit=200')).flat()
const bobsProject = await make(bob, '/projects', { name: "Bob's own" })
await make(bob, '/tasks', { title: 'Hidden from Ada', projectId: bobsProject.id, assigneeId: bob.id })

type Matches = (task: Body) => boolean
const idsOf = (tasks: Body[]) => tasks.map(({ id }) => id).sort()

async function expectExactly(query: string, matches: Matches, client: Person = ada) {
  const pages = await allPages(client, `/tasks?${query}&limit=5`)
  expect(idsOf(pages.flat())).toEqual(idsOf(all.filter(matches)))
}

const filters: [query: string, Matches][] = [
  [`projectId=${first}`, (task) => task.projectId === first],
  [`projectId=${second}`, (task) => task.projectId === second],
  ['status=IN_PROGRESS', (task) => task.status === 'IN_PROGRESS'],
  ['priority=HIGH', (task) => task.priority === 'HIGH'],
  ['assigneeId=me', (task) => task.assigneeId === ada.id],
  [`assigneeId=${bob.id}`, (task) => task.assigneeId === bob.id],
  ['dueAfter=2027-01-02T11:00:00Z', ({ dueDate }) => dueDate === dues[2] || dueDate === dues[3]],
  ['dueBefore=2027-01-02', ({ dueDate }) => dueDate !== null && dueDate < '2027-01-02'],
]

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

test('each filter returns exactly the matching tasks', async () => {
  for (const filter of filters) await expectExactly(...filter)
})

test('filters can be combined, in every order', async () => {
  for (const [a, one] of filters.entries())
    for (const other of filters.slice(a + 1)) {
      const [[query, matches], [otherQuery, matchesOther]] = [one, other]
      if (query.split('=')[0] === otherQuery.split('=')[0]) continue
      for (const sort of ['createdAt', '-createdAt', 'dueDate', '-dueDate'])
        await expectExactly(`${query}&${otherQuery}&sort=${sort}`, (one) => matches(one) && matchesOther(one))
    }
  const query = `projectId=${first}&status=TODO&priority=LOW&assigneeId=me&dueBefore=2028-01-01`
  const { body } = await ada.get(`/tasks?${query}`)
  const fits = all.filter((t) => t.projectId === first && t.status === 'TODO' && t.priority === 'LOW')
  expect(idsOf(body)).toEqual(idsOf(fits.filter((t) => t.assigneeId === ada.id && t.dueDate !== null)))
})

test('a list in the order of positions accepts every other filter, and needs a project', async () => {
  for (const [query, matches] of filters.filter(([one]) => !one.startsWith('projectId')))
    await expectExactly(
      `${query}&projectId=${first}&sort=position`,
      (task) => task.projectId === first && matches(task),
    )
  expectError(await ada.get('/tasks?sort=position'), 400, /^sort=position needs a projectId/)
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
  const due = dueOf((await ada.get('/tasks?dueAfter=2026-01-01')).body)
  expect(due).toEqual([...due].sort())
  const { body } = await ada.get('/tasks?dueAfter=2026-01-01&sort=createdAt')
  expect(body.map(({ id }) => id)).toEqual(idsOf(body))
})

test('assigneeId=me means the caller', async () => {
  for (const person of [ada, bob, ada]) {
    const { body } = await person.get(`/tasks?projectId=${first}&assigneeId=me`)
    expect(idsOf(body)).toEqual(idsOf(all.filter((t) => t.projectId === first && t.assigneeId === person.id)))
  }
})

test('rejects an invalid filter with 400', async () => {
  const expectRejected = async (name: string, values: string[], message: RegExp) => {
    for (const value of values) expectError(await ada.get(`/tasks?${name}=${value}`), 400, message)
  }
  await expectRejected('status', ['', 'todo', 'OPEN', 'TODO,DONE'], /^status must be one of/)
  await expectRejected('priority', ['', 'low', 'URGENT'], /^priority must be one of/)
  await expectRejected('sort', ['', 'title', 'createdAt,dueDate', '--dueDate'], /^sort must be one of/)
  const wrongIds = malformedIds.filter((id) => id !== 'me')
  await expectRejected('assigneeId', ['', 'Me', ...wrongIds], /^assigneeId must be/)
})

test("filtering by another account's project gets 404, and by an assignee without tasks an empty list", async () => {
  const stranger = await register(client)
  for (const id of ['', unknownId, ...malformedIds])
    expectError(await ada.get(`/tasks?projectId=${id}`), 404, 'Project not found')
  expectError(await stranger.get(`/tasks?projectId=${first}`), 404, 'Project not found')
  expectResponse(await ada.get(`/tasks?assigneeId=${unknownId}`), 200, [])
})
