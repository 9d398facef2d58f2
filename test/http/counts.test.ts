import { expectError, invite, make, openScene, unknownId, upTo, versionOf, withToken } from '../kit.ts'
import type { Client } from '../kit.ts'

const { ada, bea, cy, sql } = await openScene(['Ada', 'Bea', 'Cy'])
const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
await invite(ada, projectId, bea)
const label = (name: string) => make(ada, `/projects/${projectId}/labels`, { name })
const [red, blue] = [await label('red'), await label('blue')]
const add = (fields: object) => make(ada, '/tasks', { title: 'Draw', projectId, ...fields })
await add({ labelIds: [red.id, blue.id], assigneeId: bea.id })
await add({ labelIds: [red.id], assigneeId: bea.id, status: 'DONE' })
await add({ assigneeId: ada.id, priority: 'HIGH' })
await add({})

const path = (query: object = {}) => `/tasks/counts?${new URLSearchParams({ projectId, ...query })}`

interface Counts {
  version: number
  total: number
  counts: { value: string | null; count: number }[]
  isExact: boolean
}
const read = async (query: object = {}, client: Client = ada) =>
  (await client.get(path(query))).body as unknown as Counts

test('counts the tasks of a project, also for a viewer, at the version of the response', async () => {
  const version = await versionOf(ada, projectId)
  expect(await read()).toEqual({ version, total: 4, counts: [], isExact: true })
  expect(await read({ by: 'none' }, bea)).toEqual(await read())
  const counts = Object.entries({ LOW: 0, MEDIUM: 3, HIGH: 1 }).map(([value, count]) => ({ value, count }))
  expect(await read({ by: 'priority' }, bea)).toEqual({ version, total: 4, counts, isExact: true })
  expect((await ada.get(path())).headers.get('docket-version')).toBe(String(version))
})

test('rejects the parameters of a page, other fields and a search in the past, and strangers with 404', async () => {
  const invalid: [query: object, status: number, message: string | RegExp][] = [
    [{ sort: 'createdAt' }, 400, /^sort is not known here/],
    [{ limit: '1' }, 400, /^limit is not known here/],
    [{ cursor: '1' }, 400, /^cursor is not known here/],
    [{ stat: 'TODO' }, 400, /^stat is not known here/],
    ...['', 'title', 'Status', 'labelIds'].map((by): [object, number, RegExp] => [
      { by },
      400,
      /^by must be one of status, priority, assigneeId, labelId, none$/,
    ]),
    [{ q: 'draw', asOf: '2' }, 400, 'q cannot be combined with asOf'],
    [{ 'field.other': '1' }, 400, /^field.other must name a field/],
    [{ asOf: 99 }, 400, /^asOf is ahead/],
    [{ asOf: '1990-01-01' }, 404, 'Project not found'],
    ...['', 'x', unknownId].map((id): [object, number, string] => [
      { projectId: id },
      404,
      'Project not found',
    ]),
  ]
  for (const [query, status, message] of invalid) expectError(await ada.get(path(query)), status, message)
  expectError(await ada.get('/tasks/counts?by=status'), 400, /^projectId is required/)
  const bound = await withToken(ada, { projects: [(await make(ada, '/projects', { name: 'P' })).id] })
  for (const one of [cy, bound]) expectError(await one.get(path()), 404, 'Project not found')
  expectError(await ada.as().get(path()), 401)
})

test('a response has an ETag until the project changes, and a search counts the tasks with its words', async () => {
  const wheels = await add({ title: 'Oil the wheels', labelIds: [blue.id] })
  const queries = [{ by: 'status' }, { q: 'wheels', by: 'labelId' }, { ready: 'true' }, { assigneeId: 'me' }]
  for (const query of queries) {
    const { headers } = await ada.get(path(query))
    const condition = { 'if-none-match': headers.get('etag')! }
    const unchanged = await ada.get(path(query), condition)
    const version = headers.get('docket-version')
    expect([query, unchanged.status, unchanged.headers.get('docket-version')]).toEqual([query, 304, version])
    await ada.patch(`/tasks/${wheels.id}`, { description: condition['if-none-match'] })
    expect([query, (await ada.get(path(query), condition)).status]).toEqual([query, 200])
  }
  const found = { total: 1, counts: [{ value: blue.id, count: 1 }], isExact: true }
  expect(await read({ q: 'wheels', by: 'labelId' })).toMatchObject(found)
  const mine = await ada.get(path({ assigneeId: 'me' }))
  const other = await bea.get(path({ assigneeId: 'me' }), { 'if-none-match': mine.headers.get('etag')! })
  expect([other.status, (other.body as unknown as Counts).total]).toEqual([200, 2])
})

test('the version of a response is the version of its tasks while others write', async () => {
  const { id } = await make(ada, '/projects', { name: 'Busy' })
  const seen = new Map<number, number>()
  let isWriting = true
  const writing = (async () => {
    for (const n of upTo(60)) await make(ada, '/tasks', { projectId: id, title: `T${n}` })
    isWriting = false
  })()
  while (isWriting) {
    const { version, total } = await read({ projectId: id })
    seen.set(version, total)
  }
  await writing
  for (const [version, total] of seen) expect([version, total]).toEqual([version, version - 1])
  expect(seen.size).toBeGreaterThan(5)
})

test('at most 100,000 matching tasks are counted', async () => {
  const { id } = await make(ada, '/projects', { name: 'Large' })
  const fill = async (count: number) => {
    await sql`insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id)
      select uuidv7(), ${id}, n + s.last_number, 'T', case when n % 4 = 0 then 'DONE' else 'TODO' end, 'LOW', now(), now(), uuidv7()
      from streams s, generate_series(1, ${count}::int) n where s.project_id = ${id}`
    await sql`update streams set version = version + ${count}, last_number = last_number + ${count},
      last_event_id = uuidv7() where project_id = ${id}`
  }
  const counted = (query: object) => read({ projectId: id, ...query })
  await fill(100_000)
  expect(await counted({ by: 'status' })).toMatchObject({ total: 100_000, isExact: true })
  await fill(4)
  const { isExact, total, counts } = await counted({ by: 'status' })
  const sum = counts.reduce((all, { count }) => all + count, 0)
  expect([isExact, total, sum]).toEqual([false, 100_000, 100_000])
  expect(await counted({ status: 'DONE' })).toMatchObject({ total: 25_001, isExact: true })
  // No worker has filled the index of the search.
  expect(await counted({ q: 'T' })).toMatchObject({ isExact: false })
  expect(await counted({ by: 'labelId', asOf: await versionOf(ada, id) })).toMatchObject({ isExact: false })
})
