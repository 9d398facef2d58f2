import { expectError, isReplay, statuses } from '../../kit.ts'
import { openImportScene, start } from './scene.ts'

const scene = await openImportScene()
const { sql, newProject } = scene

async function startOne() {
  const { owner, projectId } = await newProject()
  const { body } = await start(owner, projectId)
  return { owner, projectId, id: body.id, path: `/imports/${body.id}` }
}

async function endedOne(values: Record<string, unknown> = {}) {
  const one = await startOne()
  await scene.end(one.id, values)
  return { ...one, undo: (headers = {}) => one.owner.post(`${one.path}/undo`, undefined, headers) }
}

/** Ends the undo of an import, as a worker does. */
async function endUndo({ id }: { id: string }, undo_state = 'done', kept = 1) {
  for (let isQueued = false; !isQueued;)
    isQueued =
      (
        await sql`update imports set ${sql({ undo_state, undone: 3, kept })} where id = ${id} and undo_state = 'queued'`
      ).count > 0
}

test('cancels a queued import, and a running import', async () => {
  for (const state of ['queued', 'running']) {
    const { owner, projectId, id, path } = await startOne()
    await scene.set(id, { state, progress: 0.5 })
    expect((await owner.delete(path)).body).toEqual({ message: 'Import cancelled successfully' } as never)
    const { body } = await owner.get(path)
    expect(body).toMatchObject({ state: 'cancelled', progress: 0.5, finishedAt: expect.any(String) } as never)
    expect((await start(owner, projectId)).status).toBe(202)
  }
})

test('rejects the cancellation of an ended import with 409', async () => {
  for (const state of ['done', 'failed', 'cancelled']) {
    const { owner, path } = await endedOne({ state })
    expectError(await owner.delete(path), 409, 'The import has already ended')
    expect((await owner.get(path)).body).toMatchObject({ state } as never)
  }
})

test('a repeated cancellation with the same Idempotency-Key gets the first response', async () => {
  const { owner, path } = await startOne()
  const key = { 'idempotency-key': 'k' }
  const answers = [await owner.delete(path, key), await owner.delete(path, key)]
  expect(answers.map((one) => [one.status, isReplay(one)])).toEqual([
    [200, false],
    [200, true],
  ])
})

test('an undo queues a job, and gets 200 if the undo ends within 10 seconds', async () => {
  for (const state of ['done', 'failed', 'cancelled']) {
    const one = await endedOne({ state })
    const [answer] = await Promise.all([one.undo(), endUndo(one)])
    expect([answer.status, answer.body]).toMatchObject([
      200,
      { state, undo: { state: 'done', undone: 3, kept: 1 } },
    ])
    const [job] =
      await sql`select project_id, data from outbox where name = 'undo-import' and data ->> 'importId' = ${one.id}`
    const caller = JSON.stringify({ userId: one.owner.id })
    expect(job).toEqual({ projectId: one.projectId, data: { importId: one.id, caller } } as never)
  }
})

test('an undo that takes longer gets 202, and blocks other imports of the project', async () => {
  const one = await endedOne()
  const answer = await one.undo()
  expect([answer.status, answer.headers.get('location')]).toEqual([202, `/api/v1${one.path}`])
  expect(answer.body).toMatchObject({ undo: { state: 'queued', undone: 0, kept: 0 } } as never)
  expectError(
    await start(one.owner, one.projectId),
    409,
    new RegExp(`^The undo of the import ${one.id} has not`),
  )
})

test('an import is undone once if nothing is kept: concurrent and later undos get 409', async () => {
  const one = await endedOne()
  const undos = Promise.all([one.undo(), one.undo(), one.undo()])
  await endUndo(one, 'done', 0)
  expect(statuses(await undos)).toEqual({ 200: 1, 409: 2 })
  expectError(await one.undo(), 409, 'The import is already undone')
})

test('an import is undone again if the undo has failed, or has kept a task, a label or a field', async () => {
  const failed = await endedOne({ undo_state: 'failed' })
  const kept = [
    await endedOne({ undo_state: 'done', kept: 1 }),
    await endedOne({ undo_state: 'done', kept: 0 }),
  ]
  for (const { id } of kept)
    await sql`insert into import_lines (import_id, n, outcome, message) values (${id}, 1, 'kept', 'Tasks have it')`
  for (const one of [failed, ...kept]) {
    const [answer] = await Promise.all([one.undo(), endUndo(one)])
    expect(answer.status).toBe(200)
  }
})

test('rejects the undo of an active import, of a dry run, and of an import while another import is active', async () => {
  const active = await startOne()
  expectError(
    await active.owner.post(`${active.path}/undo`),
    409,
    'The import has not ended: cancel it first',
  )
  const dry = await endedOne({ dry_run: true })
  expectError(await dry.undo(), 409, 'The import was a dry run: it changed nothing')
  const first = await endedOne()
  const { body: second } = await start(first.owner, first.projectId)
  expectError(await first.undo(), 409, new RegExp(`^The import ${second.id} has not ended`))
})

test('a retry of an undo with the same Idempotency-Key gets the stored response 202', async () => {
  const one = await endedOne()
  const key = { 'idempotency-key': 'k' }
  await Promise.all([one.undo(key), endUndo(one)])
  const retry = await one.undo(key)
  expect([retry.status, isReplay(retry)]).toEqual([202, true])
})
