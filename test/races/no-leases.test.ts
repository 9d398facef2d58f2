import { faultsOf, forFile, freshEnv, isReplay, make, openTestService, register, upTo } from '../kit.ts'
import type { Client } from '../kit.ts'

// With different prefixes in Redis, the processes share no leases and no notifications: only commits keep writes apart.
const { env } = await forFile(freshEnv())
const [a, b] = [
  await forFile(openTestService(env)),
  await forFile(openTestService({ ...env, REDIS_PREFIX: 'other' })),
]
const ada = await register(a.client)
const at = { a: ada as Client, b: b.client.as(ada.token) }
const both = [at.a, at.b]
const { background: sql } = a.services.database
const project = async () => (await make(ada, '/projects', { name: 'Engine' })).id

test('concurrent writes of two processes are all stored once, in one order', async () => {
  const projectId = await project()
  const { id } = await make(ada, '/tasks', { projectId, title: 'T' })
  const operations = [
    { op: 'task.create', title: 'Batch' },
    { op: 'subtask.create', taskId: id, title: 'S' },
  ]
  const writes = upTo(40).map((n) => {
    const by = both[n % 2]!
    if (n % 4 < 2) return by.post('/tasks', { projectId, title: `T${n}`, place: 'first' })
    return n % 8 < 4
      ? by.patch(`/tasks/${id}`, { title: `T${n}` })
      : by.post(`/projects/${projectId}/batch`, { operations })
  })
  const failed = (await Promise.all(writes)).filter(({ status }) => status > 201)
  expect(failed.map(({ text }) => text)).toEqual([])
  expect((await at.b.get(`/tasks?projectId=${projectId}&limit=200`)).body).toHaveLength(31)
  expect(await faultsOf(sql)).toEqual([])
})

test('a process with an old state in memory replies with the current row, and repeats no old change', async () => {
  const projectId = await project()
  const { id } = await make(ada, '/tasks', { projectId, title: 'First' })
  const path = `/tasks/${id}`
  const change = async (by: Client, title: string) => (await by.patch(path, { title })).body.title
  for (const [by, title] of [
    [at.b, 'One'],
    [at.a, 'Two'],
    [at.b, 'One'],
    [at.a, 'Two'],
  ] as const) {
    expect(await change(by, title)).toBe(title)
    for (const reader of both) expect((await reader.get(path)).body.title).toBe(title)
  }
  const etag = (await at.b.get(path)).headers.get('etag')!
  await change(at.a, 'Three')
  expect((await at.b.patch(path, { title: 'Two' }, { 'if-match': etag })).status).toBe(412)
  expect((await at.b.post(`${path}/release`)).body.title).toBe('Three')
  expect(await faultsOf(sql)).toEqual([])
})

test('concurrent moves, claims, deletions and repeats at two processes happen once', async () => {
  const [one, other] = [await project(), await project()]
  const operations = upTo(12).map((n) => ({ op: 'task.create', title: `T${n}` }))
  const { results } = (await ada.post(`/projects/${one}/batch`, { operations })).body as unknown as {
    results: { id: string }[]
  }
  const moves = results.map(({ id }, n) =>
    both[n % 2]!.patch(`/tasks/${id}`, { projectId: n % 3 ? other : one, title: 'Moved' }),
  )
  const creations = upTo(12).map((n) =>
    both[n % 2]!.post('/tasks', { projectId: n % 2 ? one : other, title: 'New' }),
  )
  expect(
    (await Promise.all([...moves, ...creations]))
      .map(({ status }) => status)
      .filter((status) => status > 201),
  ).toEqual([])
  const claims = await Promise.all(
    upTo(20).map((n) => both[n % 2]!.post(`/projects/${one}/claim-next`, { leaseSeconds: 60 })),
  )
  const claimed = claims.flatMap(({ status, body }) => (status === 200 ? body.id : []))
  expect(new Set(claimed).size).toBe(claimed.length)
  const repeats = await Promise.all(
    upTo(8).map((n) =>
      both[n % 2]!.post('/tasks', { projectId: one, title: 'Keyed' }, { 'idempotency-key': 'k' }),
    ),
  )
  expect([
    new Set(repeats.map(({ text }) => text)).size,
    repeats.filter((answer) => !isReplay(answer)).length,
  ]).toEqual([1, 1])
  const deleted = await Promise.all(both.map((by) => by.delete(`/tasks/${claimed[0]}`)))
  expect(deleted.map(({ status }) => status).sort()).toEqual([200, 404])
  expect(await faultsOf(sql)).toEqual([])
})
