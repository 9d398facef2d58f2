import { claimTask } from '../../modules/work-queue/commands.ts'
import { eventually, expectError, faultsOf, invite, make, openScene, runBatch, versionOf } from '../kit.ts'
import type { Answer, Body, Person } from '../kit.ts'

const { service, ada, bea, cyd, sql } = await openScene(['Ada', 'Bea', 'Cyd'])
let [projectId, taskId, beaId] = ['', '', '']

beforeEach(async () => {
  projectId = (await make(ada, '/projects', { name: 'Queue' })).id
  beaId = (await invite(ada, projectId, bea, 'EDITOR')).id
  taskId = await add('Draw')
})

interface Event {
  type: string
  seq: number
  failed?: boolean
  reason?: string | null
  before: { attempts?: number }
  after: { attempts?: number }
}

const add = async (title: string, fields: object = {}) =>
  (await make(ada, '/tasks', { projectId, title, ...fields })).id
const claim = (id = taskId, by: Person = ada) => by.post(`/tasks/${id}/claim`, { leaseSeconds: 60 })
const release = (body?: object, id = taskId, by: Person = ada) => by.post(`/tasks/${id}/release`, body)
const patch = (fields: object, id = taskId) => ada.patch(`/tasks/${id}`, fields)
const attemptsIn = ({ body }: Pick<Answer, 'body'>) => (body as Body & { attempts: number }).attempts
const attempts = async (id = taskId, query = '') => attemptsIn(await ada.get(`/tasks/${id}${query}`))
const undo = (seq: number) => ada.post(`/projects/${projectId}/undo`, { seq })
const next = (body: object = {}) =>
  ada.post(`/projects/${projectId}/claim-next`, { leaseSeconds: 60, ...body })
const eventsOf = async (type: string) =>
  (await ada.get(`/projects/${projectId}/events?types=${type}`)).body as unknown as Event[]
const found = async (query: string) =>
  ((await ada.get(`/tasks?projectId=${projectId}&${query}`)).body as Body[]).map(({ title }) => title)

async function fail(times: number, id = taskId): Promise<void> {
  for (let n = 0; n < times; n++) {
    await claim(id)
    expect((await release({ failed: true }, id)).status).toBe(200)
  }
}

/** Claims the task for less time than the API allows, and waits until the claim has ended. */
async function expire(id = taskId, by: Person = ada): Promise<void> {
  const input = { id, leaseSeconds: 0.2 }
  await service.services.run({ name: claimTask.name, input, caller: { userId: by.id } })
  await eventually('the end of the claim', async () => {
    const { body } = await ada.get(`/tasks/${id}`)
    return (body as Body & { claim: unknown }).claim === null
  })
}

test('a failed release counts an attempt, and its event has `failed` and the reason', async () => {
  expect(await attempts()).toBe(0)
  await claim()
  const answer = await release({ failed: true, reason: ' The mould has a crack ' })
  expect([answer.status, attemptsIn(answer), await attempts()]).toEqual([200, 1, 1])
  const [event] = await eventsOf('task.released')
  expect(event).toMatchObject({ failed: true, reason: 'The mould has a crack' })
  expect([event!.before.attempts, event!.after.attempts]).toEqual([0, 1])
  expect(Object.keys(event!.after).sort()).toEqual(['attempts', 'claim', 'updatedAt'])
  expect(await attempts(taskId, `?asOf=${event!.seq - 1}`)).toBe(0)
  await fail(1)
  expect([await attempts(), await attempts(taskId, `?asOf=${event!.seq}`)]).toEqual([2, 1])
  expect(await faultsOf(sql)).toEqual([])
})

test('a normal release needs no body and counts nothing', async () => {
  for (const body of [undefined, {}, { failed: false }, { reason: 'Lunch' }]) {
    await claim()
    expect((await release(body)).status).toBe(200)
  }
  expect(await attempts()).toBe(0)
  expect((await eventsOf('task.released')).map(({ failed, reason }) => [failed, reason])).toEqual([
    [false, null],
    [false, null],
    [false, null],
    [false, 'Lunch'],
  ])
})

test('a failed release without a live claim counts nothing, and another account gets 409', async () => {
  expect((await release({ failed: true })).status).toBe(200)
  await expire()
  expect((await release({ failed: true })).status).toBe(200)
  expect([await attempts(), await eventsOf('task.released')]).toEqual([0, []])
  await claim()
  expectError(await release({ failed: true }, taskId, bea), 409, /^Ada holds a claim/)
})

test.each([
  { failed: 'true' },
  { failed: 1 },
  { reason: 7 },
  { reason: 'x'.repeat(2_001) },
  { failed: true, reason: 'a\0b' },
  { failled: true },
])('rejects the release %p with 400', async (body) => {
  await claim()
  expectError(await release(body), 400)
  expect(await eventsOf('task.released')).toEqual([])
})

test('a reason may have 2,000 characters', async () => {
  await claim()
  expect((await release({ failed: true, reason: '𝄞'.repeat(2_000) })).status).toBe(200)
})

test('an expired claim counts when the next claim records its end', async () => {
  await expire()
  expect(await attempts()).toBe(0)
  expect(attemptsIn(await claim(taskId, bea))).toBe(1)
  const [event] = await eventsOf('task.claim_expired')
  expect([event!.before.attempts, event!.after.attempts]).toEqual([0, 1])
  await release({}, taskId, bea)
  await expire()
  expect(attemptsIn(await next())).toBe(2)
  expect(await faultsOf(sql)).toEqual([])
})

test('DONE, a deletion, a move, an undo and the removal of the holder count nothing', async () => {
  await fail(1)
  await claim()
  await patch({ status: 'DONE' })
  await patch({ status: 'TODO' })
  const claimed = await claim()
  expect((await undo((claimed.body as Body & { claim: { seq: number } }).claim.seq)).status).toBe(200)
  await claim()
  await ada.delete(`/tasks/${taskId}`)
  await undo(await versionOf(ada, projectId))
  expect(await attempts()).toBe(1)
  await claim()
  const other = await make(ada, '/projects', { name: 'Other' })
  expect(attemptsIn(await patch({ projectId: other.id }))).toBe(1)
  const { id: memberId } = await invite(ada, other.id, cyd, 'EDITOR')
  expect((await claim(taskId, cyd)).status).toBe(200)
  const input = { projectId: other.id, userId: cyd.id, ids: [taskId] }
  await ada.delete(`/projects/${other.id}/members/${memberId}`)
  await service.services.run({ name: 'task.unassign', input, caller: { userId: ada.id } })
  expect(await attempts()).toBe(1)
  expect(await faultsOf(sql)).toEqual([])
})

test('claim-next skips the tasks that have had `maxAttempts`, also if the last claim has just expired', async () => {
  const [second, third] = [await add('Second'), await add('Third')]
  await fail(2)
  await fail(1, second)
  const take = async (body: object) => {
    const { status, body: task } = await next(body)
    if (status === 200) await release({}, task.id)
    return status === 200 ? task.title : status
  }
  expect(await take({})).toBe('Draw')
  expect(await take({ maxAttempts: 3 })).toBe('Draw')
  expect(await take({ maxAttempts: 2 })).toBe('Second')
  expect(await take({ maxAttempts: 1 })).toBe('Third')
  await expire(third)
  expect(await take({ maxAttempts: 1 })).toBe(204)
  expect(await take({ maxAttempts: 2 })).toBe('Second')
  const claims = [{ maxAttempts: 2 }, {}].map((filter) => ({
    op: 'task.claim_next',
    leaseSeconds: 60,
    ...filter,
  }))
  const taken = (await runBatch(ada, projectId, claims)).map(({ id }) => id)
  expect(taken).toEqual([second, taskId])
  for (const id of taken) await release({}, id)
  const operations = [
    { op: 'task.release', id: second, failed: true },
    { op: 'task.claim_next', leaseSeconds: 60, maxAttempts: 2 },
    { op: 'task.release', id: third, failed: true, reason: 'In a batch' },
  ]
  await claim(second)
  await runBatch(ada, projectId, operations)
  expect([await attempts(second), await attempts(third)]).toEqual([2, 2])
  expect(await take({ maxAttempts: 2 })).toBe(204)
  for (const maxAttempts of [0, -1, 1.5, '3', 3_000_000_000]) expectError(await next({ maxAttempts }), 400)
})

test('minAttempts finds the dead letters, in every list with filters', async () => {
  const [second] = [await add('Second'), await add('Third', { status: 'DONE' })]
  await fail(3)
  await fail(1, second)
  expect(await found('minAttempts=1')).toEqual(['Draw', 'Second'])
  expect(await found('minAttempts=2&status=TODO')).toEqual(['Draw'])
  expect(await found('minAttempts=4')).toEqual([])
  expect(await found('minAttempts=999999999999999')).toEqual([])
  expect(await found('minAttempts=0')).toEqual(['Draw', 'Second', 'Third'])
  expect(await found('minAttempts=1&sort=-createdAt')).toEqual(['Second', 'Draw'])
  expect(await found('minAttempts=1&sort=position&limit=1')).toEqual(['Draw'])
  expect(await found('minAttempts=1&asOf=5')).toEqual([])
  expect(((await ada.get('/tasks?minAttempts=3')).body as Body[]).map(({ id }) => id)).toEqual([taskId])
  const view = { name: 'Dead letters', query: { minAttempts: '2' } }
  const { id } = await make(ada, `/projects/${projectId}/views`, view)
  expect(((await ada.get(`/views/${id}/tasks`)).body as Body[]).map(({ title }) => title)).toEqual(['Draw'])
  for (const text of ['-1', 'x', '1.5', '', '1e3'])
    expectError(await ada.get(`/tasks?minAttempts=${text}`), 400, /^minAttempts must be a whole number/)
})

test('attempts: 0 resets the number, and an undo restores it', async () => {
  await fail(2)
  const reset = await patch({ attempts: 0 })
  expect([reset.status, attemptsIn(reset)]).toEqual([200, 0])
  const events = (await ada.get(`/projects/${projectId}/events?after=4&types=task.updated`))
    .body as unknown as Event[]
  const [event] = events
  expect([event!.before.attempts, event!.after.attempts]).toEqual([2, 0])
  const { headers } = await patch({ attempts: 0 })
  expect(headers.get('etag')).toBe(reset.headers.get('etag'))
  expect((await undo(event!.seq)).status).toBe(200)
  expect(await attempts()).toBe(2)
  expectError(await bea.patch(`/tasks/${taskId}`, { attempts: -1 }), 400, /^attempts must be a whole number/)
  await ada.patch(`/projects/${projectId}/members/${beaId}/role`, { role: 'VIEWER' })
  expectError(await bea.patch(`/tasks/${taskId}`, { attempts: 0 }), 403)
  await runBatch(ada, projectId, [{ op: 'task.update', id: taskId, was: { attempts: 2 }, attempts: 0 }])
  expect(await attempts()).toBe(0)
  expect(await faultsOf(sql)).toEqual([])
})

test('a body with `number`, other values, creates and upserts do not change the attempts', async () => {
  await fail(2)
  const { body: row } = await ada.get(`/tasks/${taskId}`)
  await fail(1)
  for (const body of [row, { ...row, attempts: 0 }, { attempts: 0, number: 99 }, { attempts: 7 }])
    expect((await patch(body)).status).toBe(200)
  expect(await attempts()).toBe(3)
  const operation = { op: 'task.update', id: taskId, number: 1, attempts: 0, title: 'Ink' }
  await runBatch(ada, projectId, [operation])
  expect(await attempts()).toBe(3)
  expect(await attempts(await add('New', { attempts: 5 }))).toBe(0)
  await patch({ externalId: 'X' })
  await ada.call('PUT', `/projects/${projectId}/tasks/external/X`, { title: 'Upserted', attempts: 0 })
  expect(await attempts()).toBe(3)
  const other = await make(ada, '/projects', { name: 'Other' })
  expect(attemptsIn(await patch({ projectId: other.id, attempts: 0 }))).toBe(0)
})

test('attempts do not prevent the undo of the creation', async () => {
  await fail(1)
  const [created] = await eventsOf('task.created')
  expect((await undo(created!.seq)).status).toBe(200)
})
