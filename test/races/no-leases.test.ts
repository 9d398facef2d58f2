import { faultsOf, forFile, freshEnv, isReplay, make, openTestService, register, runBatch } from '../kit.ts'
import { statuses, upTo } from '../kit.ts'
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
  expect(statuses(await Promise.all(writes))).toEqual({ 200: 20, 201: 20 })
  expect((await at.b.get(`/tasks?projectId=${projectId}&limit=200`)).body).toHaveLength(31)
  expect(await faultsOf(sql)).toEqual([])
})

test('a process with an old state in memory replies with the current row, and repeats no old change', async () => {
  const projectId = await project()
  const { id } = await make(ada, '/tasks', { projectId, title: 'First' })
  const path = `/tasks/${id}`
  const change = async (by: Client, title: string) => (await by.patch(path, { title })).body.title
  for (const n of upTo(4)) {
    const title = n % 2 ? 'One' : 'Two'
    expect(await change(n % 2 ? at.b : at.a, title)).toBe(title)
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
  const results = await runBatch(
    ada,
    one,
    upTo(12).map((n) => ({ op: 'task.create', title: `T${n}` })),
  )
  const moves = results.map(({ id }, n) =>
    both[n % 2]!.patch(`/tasks/${id}`, { projectId: n % 3 ? other : one, title: 'Moved' }),
  )
  const creations = upTo(12).map((n) =>
    both[n % 2]!.post('/tasks', { projectId: n % 2 ? one : other, title: 'New' }),
  )
  expect(statuses(await Promise.all([...moves, ...creations]))).toEqual({ 200: 12, 201: 12 })
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
  expect(new Set(repeats.map(({ text }) => text)).size).toBe(1)
  expect(repeats.filter((answer) => !isReplay(answer))).toHaveLength(1)
  const deleted = await Promise.all(both.map((by) => by.delete(`/tasks/${claimed[0]}`)))
  expect(statuses(deleted)).toEqual({ 200: 1, 404: 1 })
  expect(await faultsOf(sql)).toEqual([])
})
