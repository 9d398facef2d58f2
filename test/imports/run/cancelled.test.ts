import { expect, test } from 'bun:test'
import type { ImportedItem } from '../../../modules/imports/items.ts'
import type { Services } from '../../../src/services.ts'
import { unavailable } from '../../../src/responses/errors.ts'
import { endLostImports } from '../../../workers/imports/remove.ts'
import { openRunImport } from '../../../workers/imports/run-import.ts'
import { SliceEnded } from '../../../workers/throttle.ts'
import { openUndoImport } from '../../../workers/imports/undo-import.ts'
import { upTo } from '../../races/pair.ts'
import type { Person } from '../../support/client.ts'
import { comment, subtask, task } from './items.ts'
import { fast, fileOf, lineReader, openRunScene } from './scene.ts'

const { newProject, queue, work, undo, resultOf, services, sql, client: _ } = await openRunScene()
const execute = openUndoImport(services)

const items: ImportedItem[] = [
  { kind: 'project', row: 1, description: 'An engine' },
  { kind: 'field', row: 1, key: 'size', name: 'Size', type: 'number' },
  ...upTo(4).flatMap((n) => [
    task(String(n), {
      ...{ labels: [`label ${n}`], fields: { size: n }, after: n === 1 ? '4' : n === 4 ? '' : String(n - 1) },
      ...(n > 1 && { blockedBy: [String(n - 1)] }),
    }),
    subtask(String(n), 'Measure'),
    comment(String(n), 'Oil it'),
  ]),
]

/** Returns a worker that calls `onCommit` after each commit of a batch, before it stores the outcomes. */
const workerWith = (onCommit: (n: number) => Promise<unknown>) => {
  let commits = 0
  const runHere: Services['runHere'] = async (request) => {
    const reply = await services.runHere(request)
    await onCommit(++commits)
    return reply
  }
  return openRunImport({ ...services, runHere }, { readers: { planka: lineReader } })
}

async function rowsOf(projectId: string) {
  const [row] = await sql<object[]>`
    select description, (select count(*)::int4 from tasks where project_id = p.id) as tasks,
      (select count(*)::int4 from labels where project_id = p.id) as labels,
      (select count(*)::int4 from task_fields where project_id = p.id) as fields
    from projects p where id = ${projectId}`
  return row
}
const nothing = { description: null, tasks: 0, labels: 0, fields: 0 }

const unrecorded = (id: string, projectId: string) => sql`
  select distinct batch from events where project_id = ${projectId} and batch is not null
    and batch not in (select seq from import_batches where import_id = ${id})`

test('an undo includes a batch that was committed but not recorded before the import was cancelled', async () => {
  const { owner, projectId } = await newProject()
  const all = await queue(owner, projectId, fileOf(items))
  const commits: number[] = []
  await work(
    all,
    fast,
    workerWith(async (n) => commits.push(n)),
  )
  expect(await resultOf(all)).toMatchObject({ state: 'done', lines: [] })
  let lost = 0
  for (const last of commits) {
    const { owner, projectId } = await newProject()
    const id = await queue(owner, projectId, fileOf(items))
    const killed = workerWith(async (n) => {
      if (n < last) return
      await owner.delete(`/imports/${id}`)
      throw unavailable('killed')
    })
    await expect(killed({ importId: id }, fast)).rejects.toBeInstanceOf(SliceEnded)
    lost += (await unrecorded(id, projectId)).length
    await work(id)
    expect(await unrecorded(id, projectId)).toHaveLength(0)
    await undo(owner, id)
    expect(await rowsOf(projectId)).toEqual(nothing)
  }
  const steps = ['names', 'tasks', 'children', 'links']
  expect([commits.length, lost]).toEqual([steps.length, steps.length])
})

/** Inserts the job of an import. Returns a function that begins the undo of the import, as a worker does. */
async function withJob(owner: Person, projectId: string, importId: string, isParked = false) {
  const jobId = crypto.randomUUID()
  await sql`
    insert into outbox (id, project_id, name, data, parked_at) values (${jobId}, ${projectId}, 'run-import',
      ${JSON.stringify({ importId })}::text::jsonb, case when ${isParked} then now() end)`
  const beginUndo = async () => {
    await sql`update imports set undo_state = 'queued' where id = ${importId}`
    await execute({ importId, caller: JSON.stringify({ userId: owner.id }) }, fast)
  }
  return { jobId, beginUndo }
}

test('an undo waits until the worker of a cancelled import has recorded its last batch', async () => {
  const { owner, projectId } = await newProject()
  const id = await queue(owner, projectId, fileOf(items))
  const { jobId, beginUndo } = await withJob(owner, projectId, id)
  const [committed, stored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const running = workerWith(async () => {
    committed.resolve()
    await stored.promise
  })
  const ran = work(id, fast, running)
  await committed.promise
  await owner.delete(`/imports/${id}`)
  await expect(beginUndo()).rejects.toBeInstanceOf(SliceEnded)
  stored.resolve()
  await ran
  await sql`delete from outbox where id = ${jobId}`
  await undo(owner, id)
  expect(await rowsOf(projectId)).toEqual(nothing)
})

test('an undo does not wait for a dead letter, and undoes the last batch of the import', async () => {
  const { owner, projectId } = await newProject()
  const id = await queue(owner, projectId, fileOf(items))
  const { beginUndo } = await withJob(owner, projectId, id, true)
  const killed = workerWith(async (n) => {
    if (n === 2) throw unavailable('killed')
  })
  await expect(killed({ importId: id }, fast)).rejects.toBeInstanceOf(SliceEnded)
  await endLostImports(sql, fast)
  expect(await resultOf(id)).toMatchObject({ state: 'failed' })
  expect(await unrecorded(id, projectId)).toHaveLength(1)
  await beginUndo()
  expect(await rowsOf(projectId)).toEqual(nothing)
})
