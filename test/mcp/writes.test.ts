import { invite, make, openScene, versionOf } from '../kit.ts'
import { connect, maxAnswerCharacters } from './mcp-client.ts'

const { service, ada, bea } = await openScene(['Ada', 'Bea'])
const { call, pagesOf } = await connect(service, ada.token)
const asBea = await connect(service, bea.token)
const { call: callAgain } = await connect(service, ada.token)

let projects = 0
let keys = 0
const newKey = () => `key ${++keys}`
async function newProject() {
  const project = await make(ada, '/projects', { name: `Engine ${++projects}` })
  await invite(ada, project.id, bea, 'EDITOR')
  return project
}
const titles = async (projectId: string) =>
  (await ada.get(`/tasks?projectId=${projectId}&limit=200`)).body.map(({ title }) => title)

test('applies operations in one commit, and repeats the answer for the same key', async () => {
  const { id, name } = await newProject()
  const args = {
    project: name,
    key: 'frame-1',
    operations: [
      { op: 'task.create', as: 'frame', title: 'Cast the frame' },
      { op: 'subtask.create', taskId: '#frame', title: 'Order brass' },
      { op: 'task.create', title: 'Oil the wheels' },
    ],
  }
  const { body, isError } = await call('apply', args)
  expect([isError, body.version, body.batch]).toEqual([false, 5, 3])
  const [frame, wheels] = (await ada.get(`/tasks?projectId=${id}`)).body
  expect(body.ids).toEqual({ frame: frame!.id })
  expect(body.rows).toMatchObject([{ operation: 1 }, { operation: 2, id: wheels!.id, number: 2 }])
  expect((await call('apply', args)).body).toEqual({ ...body, replayed: true })
  expect(await titles(id)).toEqual(['Cast the frame', 'Oil the wheels'])
})

test('two calls with the same key at the same time create one task', async () => {
  const { id } = await newProject()
  const args = { project: id, key: newKey(), operations: [{ op: 'task.create', as: 'plate', title: 'Draw' }] }
  const [one, other] = await Promise.all([call('apply', args), callAgain('apply', args)])
  expect(one.body.ids).toEqual(other.body.ids)
  expect(await titles(id)).toEqual(['Draw'])
})

test('one operation has a batch: undo accepts it once, and the undo can be undone', async () => {
  const { id } = await newProject()
  const done = await call('apply', {
    project: id,
    key: newKey(),
    operations: [{ op: 'task.create', title: 'Draw' }],
  })
  expect(done.body).toMatchObject({ version: 3, batch: 3, rows: [{ operation: 0, number: 1 }] })
  const args = { project: id, key: newKey(), batch: 3 }
  const { body } = await call('undo', args)
  expect(body).toMatchObject({ version: 4, batch: 4, events: 1, rows: [{ type: 'task.deleted' }] })
  expect((await call('undo', args)).body).toEqual({ ...body, replayed: true })
  expect(await titles(id)).toEqual([])
  expect((await call('undo', { project: id, key: newKey(), batch: 4 })).body).toMatchObject({ version: 5 })
  expect(await titles(id)).toEqual(['Draw'])
})

test('undoes a single change, but not a single change of a batch', async () => {
  const { id } = await newProject()
  await make(ada, '/tasks', { projectId: id, title: 'Draw' })
  expect((await call('undo', { project: id, key: newKey(), batch: 3 })).body).toMatchObject({
    version: 4,
    batch: 4,
  })
  const operations = ['Cast', 'Oil'].map((title) => ({ op: 'task.create', title }))
  await call('apply', { project: id, key: newKey(), operations })
  const { isError, body } = await call('undo', { project: id, key: newKey(), batch: 6 })
  expect([isError, body.status, body.batch]).toEqual([true, 409, 5])
  expect(body.do).toContain('batch: 5')
})

test('applies and undoes 500 operations, and returns the ids in pages', async () => {
  const { id } = await newProject()
  const operations = Array.from({ length: 500 }, (_, n) => ({ op: 'task.create', title: `Tooth ${n}` }))
  const args = { project: id, key: newKey(), operations }
  const pages = await pagesOf<{ rows: { id: string }[]; batch: number }>('apply', args)
  const ids = new Set(pages.flatMap(({ rows }) => rows.map(({ id }) => id)))
  for (const { batch } of pages) expect(batch).toBe(3)
  expect([ids.size, await versionOf(ada, id)]).toEqual([500, 502])
  const undone = await call('undo', { project: id, key: newKey(), batch: 3 })
  expect(undone.body).toMatchObject({ version: 1002, batch: 503, events: 500 })
  expect(await titles(id)).toEqual([])
})

test('a dry run changes nothing and does not use its key', async () => {
  const { id } = await newProject()
  const args = { project: id, key: newKey(), operations: [{ op: 'task.create', title: 'Draw' }] }
  expect((await call('apply', { ...args, dryRun: true })).body).toEqual({
    dryRun: true,
    version: 2,
    operations: 1,
  })
  expect(await versionOf(ada, id)).toBe(2)
  expect((await call('apply', args)).body).toMatchObject({ version: 3, batch: 3 })
  const dry = await call('undo', { project: id, key: newKey(), batch: 3, dryRun: true })
  expect(dry.body).toMatchObject({ dryRun: true, version: 3, events: 1, rows: [{ type: 'task.deleted' }] })
  expect([await versionOf(ada, id), await titles(id)]).toEqual([3, ['Draw']])
})

test('a conditional apply changes nothing if the project has another version', async () => {
  const { id } = await newProject()
  const args = { project: id, key: newKey(), operations: [{ op: 'task.create', title: 'Draw' }] }
  const { isError, body } = await call('apply', { ...args, ifVersion: 1 })
  expect([isError, body.status, body.version]).toEqual([true, 412, 2])
  expect(body.do).toContain('changes with after: 1')
  expect((await call('apply', { ...args, ifVersion: 2 })).body.version).toBe(3)
})

test('if nothing changed, batch is null', async () => {
  const { id } = await newProject()
  const task = await make(ada, '/tasks', { projectId: id, title: 'Draw' })
  const operations = [{ op: 'task.update', id: task.id, title: 'Draw' }]
  expect((await call('apply', { project: id, key: newKey(), operations })).body).toEqual({
    version: 3,
    batch: null,
  })
})

test('two agents claim different tasks; an agent waits for a task, extends its claim and releases the task', async () => {
  const { id } = await newProject()
  const operations = ['Cast', 'Oil'].map((title) => ({ op: 'task.create', title }))
  await call('apply', { project: id, key: newKey(), operations })
  type Claimed = { task: { id: string; title: string; claim: { seq: number; until: string } } }
  const args = { project: id, leaseSeconds: 60, key: newKey() }
  const mine = await call<Claimed>('claim_next', args)
  expect((await call('claim_next', args)).body).toEqual({ ...mine.body, replayed: true })
  const other = await asBea.call<Claimed>('claim_next', { project: id, leaseSeconds: 60 })
  expect([mine.body.task.title, other.body.task.title]).toEqual(['Cast', 'Oil'])
  const none = await call('claim_next', { project: id, leaseSeconds: 60, wait: 0 })
  expect(none.body).toMatchObject({ task: null, do: expect.stringContaining('wait: 25') })

  const held = await call('extend_or_release', { id: other.body.task.id, leaseSeconds: 60 })
  expect(held.body).toMatchObject({ status: 409, holder: 'Bea', until: other.body.task.claim.until })
  expect(held.body.do).toContain('claim_next')
  const { task } = mine.body
  const longer = await call<{ claim: Claimed['task']['claim'] }>('extend_or_release', {
    id: task.id,
    leaseSeconds: 600,
  })
  expect(longer.body.claim.seq).toBe(task.claim.seq)
  expect(longer.body.claim.until > task.claim.until).toBe(true)

  const waiting = asBea.call<Claimed>('claim_next', { project: id, leaseSeconds: 60, wait: 25 })
  expect((await call('extend_or_release', { id: task.id })).body).toEqual({ id: task.id, claim: null })
  expect((await waiting).body.task.id).toBe(task.id)
  const failure = { id: task.id, failed: true, reason: 'No brass' }
  expect((await asBea.call('extend_or_release', failure)).body).toEqual({ id: task.id, claim: null })
  const found = await call<{ tasks: { id: string }[] }>('find', { project: id, minAttempts: 1 })
  expect(found.body.tasks.map((one) => one.id)).toEqual([task.id])
  const next = await call('claim_next', { project: id, leaseSeconds: 60, maxAttempts: 1 })
  expect(next.body).toMatchObject({ task: null })
  const changes = await call<{ events: object[] }>('history', { id: task.id })
  expect(JSON.stringify(changes.body)).toContain('"failed":true,"reason":"No brass"')
})

test('answers with a task that has long texts have at most 20,000 characters', async () => {
  const { id } = await newProject()
  const keys = Array.from({ length: 10 }, (_, n) => `text_${n}`)
  for (const name of keys) await make(ada, `/projects/${id}/fields`, { key: name, name, type: 'text' })
  const fields = Object.fromEntries(keys.map((key) => [key, '漢字 wheel '.repeat(190)]))
  const task = { projectId: id, title: '漢'.repeat(500), description: '"漢字\u0001 '.repeat(2_500), fields }
  const { id: taskId } = await make(ada, '/tasks', task)
  for (const [tool, args] of [
    ['claim_next', { project: id, leaseSeconds: 60 }],
    ['get', { id: taskId }],
    ['find', { project: id, fields: 'full' }],
  ] as const) {
    const { isError, text } = await call(tool, args)
    expect([isError, text.length <= maxAnswerCharacters]).toEqual([false, true])
  }
})
