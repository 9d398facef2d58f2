import type { ImportedItem } from '../../../modules/imports/items.ts'
import type { Reader } from '../../../modules/imports/readers/reader.ts'
import { endLostImports, make, type Person, SliceEnded, type Sql, upTo } from '../../kit.ts'
import { connectionError } from '../../../src/postgres/errors.ts'
import { conflict, unavailable } from '../../../src/responses/errors.ts'
import type { Services } from '../../../src/services.ts'
import { openRunImport } from '../../../workers/imports/run-import.ts'
import { openUndoImport } from '../../../workers/imports/undo-import.ts'
import { type Throttle } from '../../../workers/throttle.ts'
import { comment, subtask, task } from './items.ts'
import { fast, fileOf, lineReader, openRunScene, perBatch } from './scene.ts'

const scene = await openRunScene()
const { queue, work, execute, undo, executeUndo, workerWith, rowsOf, resultOf, services, sql } = scene

const count = 6
const file = fileOf([
  { kind: 'project', row: 1, description: 'An engine' } as ImportedItem,
  { kind: 'field', row: 1, key: 'size', name: 'Size', type: 'number' },
  { kind: 'field', row: 1, key: 'shape', name: 'Shape', type: 'text' },
  ...upTo(count).flatMap((n) => [
    task(String(n), {
      ...{ labels: [`label ${n}`, 'bug'], fields: { size: n, shape: 'round' } },
      ...{ after: n === 1 ? String(count) : n === count ? '' : String(n - 1) },
      ...(n > 1 && { blockedBy: [String(n - 1)] }),
    }),
    subtask(String(n), 'Measure'),
    comment(String(n), 'Oil it'),
  ]),
])
const created = { read: count, created: count, updated: 0, unchanged: 0, rejected: 0 }
const all = { tasks: count, links: count - 1, subtasks: count, comments: count, labels: count + 1 }
const whole = { ...all, fields: 2, descriptions: 1 }
const nothing = { tasks: 0, links: 0, subtasks: 0, comments: 0, labels: 1, fields: 0, descriptions: 0 }

/** A project in which the label `bug` exists before the import, so its result has another id than its operation. */
async function begin() {
  const { owner, projectId } = await scene.newProject()
  await make(owner, `/projects/${projectId}/labels`, { name: 'bug' })
  return { owner, projectId, id: await queue(owner, projectId, file) }
}

const unrecorded = (id: string, projectId: string) => sql`
  select distinct batch from events where project_id = ${projectId} and batch is not null
    and batch not in (select seq from import_batches where import_id = ${id})`

/** Inserts the job of an import. Returns a function that begins the undo of the import, as a worker does. */
async function withJob(owner: Person, projectId: string, importId: string, isParked = false) {
  const jobId = crypto.randomUUID()
  await sql`
    insert into outbox (id, project_id, name, data, parked_at) values (${jobId}, ${projectId}, 'run-import',
      ${JSON.stringify({ importId })}::text::jsonb, case when ${isParked} then now() end)`
  const beginUndo = async () => {
    await sql`update imports set undo_state = 'queued' where id = ${importId}`
    await executeUndo({ importId, caller: JSON.stringify({ userId: owner.id }) }, fast)
  }
  return { jobId, beginUndo }
}

const steps = ['names', 'tasks', 'children', 'links']

test.each(['continues', 'is cancelled', 'loses its job'])(
  'an import whose worker is killed before it records a batch doubles and loses nothing, if it then %s',
  async (end) => {
    for (const [n, step] of steps.entries()) {
      const { owner, projectId, id } = await begin()
      const killed = workerWith(async (commit) => {
        if (commit < n + 1) return
        if (end === 'is cancelled') await owner.delete(`/imports/${id}`)
        throw unavailable('killed')
      })
      await expect(killed.run({ importId: id }, fast)).rejects.toBeInstanceOf(SliceEnded)
      expect([step, (await unrecorded(id, projectId)).length]).toEqual([step, 1])
      if (end === 'loses its job') {
        // An undo does not wait for a dead letter.
        const { beginUndo } = await withJob(owner, projectId, id, true)
        await endLostImports(sql, fast)
        const error = 'The worker failed at each attempt'
        expect(await resultOf(id)).toMatchObject({ state: 'failed', error })
        await beginUndo()
      } else {
        await work(id)
        expect(await unrecorded(id, projectId)).toHaveLength(0)
        const state = end === 'continues' ? 'done' : 'cancelled'
        expect(await resultOf(id)).toMatchObject({
          state,
          ...(state === 'done' && { counts: created, lines: [] }),
        })
        if (state === 'done') expect([step, await rowsOf(projectId)]).toEqual([step, whole])
        // The worker of the undo is killed after each second batch.
        const undoing = workerWith(async (commit) => {
          if (commit % 2 === 1) throw unavailable('killed')
        })
        const undone = (await rowsOf(projectId)).tasks!
        const result = await undo(owner, id, fast, undoing.undo)
        expect(result).toEqual({ undoState: 'done', undone, kept: 0, lines: [] })
      }
      expect([step, await rowsOf(projectId)]).toEqual([step, nothing])
    }
  },
)

test('continues after each batch without duplicates, and deletes the file at the end', async () => {
  const { owner, projectId, id } = await begin()
  const small = openRunImport(services, { readers: { planka: lineReader }, batchRows: 2 })
  expect(await work(id, perBatch, small)).toBeGreaterThan(8)
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts: created, lines: [] })
  expect(await rowsOf(projectId)).toEqual(whole)
  for (const table of ['import_items', 'import_chunks'])
    expect(await sql`select from ${sql(table)} where import_id = ${id}`).toHaveLength(0)
  const [batch] = await sql<{ seq: number }[]>`
    select max(seq)::float8 as seq from import_batches where import_id = ${id}`
  // The undo skips events that are already undone.
  expect((await owner.post(`/projects/${projectId}/undo`, { batch: batch!.seq })).status).toBe(200)
  expect(await undo(owner, id, perBatch)).toEqual({ undoState: 'done', undone: count, kept: 0, lines: [] })
  expect(await rowsOf(projectId)).toEqual(nothing)
})

test('an import in a step of the previous release reads the file again, and creates nothing twice', async () => {
  const { owner, projectId } = await scene.newProject()
  await work(await queue(owner, projectId, file.split('\n').slice(0, 6).join('\n')))
  const id = await queue(owner, projectId, file)
  const cursor = JSON.stringify({ step: 'subtasks', n: 7 })
  await sql`update imports set state = 'running', created = 5, cursor = ${cursor}::text::jsonb where id = ${id}`
  await work(id)
  const counts = { ...created, created: count - 1, unchanged: 1 }
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts, lines: [] })
  expect(await rowsOf(projectId)).toEqual(whole)
})

test('an undo waits until the worker of a cancelled import has recorded its last batch', async () => {
  const { owner, projectId, id } = await begin()
  const { jobId, beginUndo } = await withJob(owner, projectId, id)
  const [committed, stored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { run } = workerWith(async () => {
    committed.resolve()
    await stored.promise
  })
  const ran = work(id, fast, run)
  await committed.promise
  await owner.delete(`/imports/${id}`)
  await expect(beginUndo()).rejects.toBeInstanceOf(SliceEnded)
  stored.resolve()
  await ran
  await sql`delete from outbox where id = ${jobId}`
  await undo(owner, id)
  expect(await rowsOf(projectId)).toEqual(nothing)
})

test('a batch that is rejected as a whole is imported in halves, which lose no row', async () => {
  const { projectId, id } = await begin()
  const runHere: Services['runHere'] = async (request) => {
    const { operations } = request.input as { operations: object[] }
    if (operations.length > 2) throw conflict('Another project uses one of the ids')
    return services.runHere(request)
  }
  await work(id, fast, openRunImport({ ...services, runHere }, { readers: { planka: lineReader } }))
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts: created, lines: [] })
  expect(await rowsOf(projectId)).toEqual(whole)
})

// Two workers can run the same job if Redis has lost the job, or if the lock of a paused worker has expired.

test('two workers that run the same import create each row once', async () => {
  const { projectId, id } = await begin()
  await Promise.all([work(id), work(id)])
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts: created, lines: [] })
  expect(await rowsOf(projectId)).toEqual(whole)
})

test('two workers that undo the same import undo each task once', async () => {
  const { owner, projectId } = await scene.newProject()
  const items = [task('1'), task('2', { labels: ['bug'] })]
  const { id } = await scene.importItems(owner, projectId, items)
  await sql`update imports set undo_state = 'queued' where id = ${id}`
  const [read, committed, stored] = [0, 1, 2].map(() => Promise.withResolvers<void>())
  const caller = JSON.stringify({ userId: owner.id })
  const undoWith = (runHere: Services['runHere']) => {
    const undo = openUndoImport({ ...services, runHere })
    return (throttle: Throttle) => undo({ importId: id, caller }, throttle)
  }
  const first = undoWith(async (request) => {
    await read!.promise
    const reply = await services.runHere(request)
    committed!.resolve()
    await stored!.promise
    return reply
  })
  const second = undoWith(async (request) => {
    read!.resolve()
    await committed!.promise
    return services.runHere(request)
  })
  const undoing = work(id, fast, (_, throttle) => first(throttle))
  // The second worker stores the result of the batch, and stops before the next batch.
  await expect(second(perBatch)).rejects.toBeInstanceOf(SliceEnded)
  stored!.resolve()
  await undoing
  await work(id, fast, (_, throttle) => second(throttle))
  const [row] = await sql<object[]>`select undo_state, undone, kept from imports where id = ${id}`
  expect(row).toEqual({ undoState: 'done', undone: items.length, kept: 0 })
  expect((await resultOf(id)).lines).toEqual([])
})

test('a worker that still reads a file that another worker has read stores nothing', async () => {
  const pageRows = 500
  const { owner, projectId } = await scene.newProject()
  const tasks = upTo(pageRows).map((n) => task(String(n)))
  const parts = upTo(pageRows).map((n) => task(String(pageRows + n), { parent: String(n) }))
  const id = await queue(owner, projectId, fileOf([...tasks, ...parts]))
  const [paused, going] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const pausing: Reader = async function* (input) {
    let row = 0
    for await (const item of lineReader(input)) {
      if (row++ === pageRows) {
        paused.resolve()
        await going.promise
      }
      yield item
    }
  }
  const first = openRunImport(services, { readers: { planka: pausing } })({ importId: id }, fast)
  await paused.promise
  // Another worker turns sub-items into subtasks, and imports the first tasks.
  while ((await resultOf(id)).counts.created === 0) await execute({ importId: id }, perBatch).catch(() => {})
  going.resolve()
  expect(await first.catch((error: unknown) => error)).toBeInstanceOf(SliceEnded)
  await work(id)
  const counts = { read: pageRows, created: pageRows, updated: 0, unchanged: 0, rejected: 0 }
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts, lines: [] })
})

interface SentQuery {
  handler: (query: SentQuery) => unknown
  reject(error: Error): void
}

/** Each statement of the worker fails when it is sent for the first time. */
function failingOnce(): { services: Services; failed: Set<unknown> } {
  const failed = new Set<unknown>()
  const background = new Proxy(services.database.background, {
    apply(target, self, [strings, ...values]) {
      const query = Reflect.apply(target, self, [strings, ...values]) as SentQuery
      if (!strings.raw || failed.has(strings)) return query
      const { handler } = query
      query.handler = (sent) => {
        if (failed.has(strings)) return handler(sent)
        failed.add(strings)
        query.reject(connectionError('CONNECTION_CLOSED', 'The connection was closed'))
      }
      return query
    },
  }) as Sql
  return { services: { ...services, database: { ...services.database, background } }, failed }
}

test('an import and its undo continue after temporary errors of all their statements', async () => {
  const { owner, projectId, id } = await begin()
  const failing = failingOnce()
  const slices = await work(id, fast, openRunImport(failing.services, { readers: { planka: lineReader } }))
  // Some statements are sent together, so they fail in the same slice.
  expect(slices).toBeGreaterThan(failing.failed.size - 3)
  expect(failing.failed.size).toBeGreaterThan(15)
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts: created, lines: [] })
  const before = failing.failed.size
  const result = await undo(owner, id, fast, openUndoImport(failing.services))
  expect(result).toEqual({ undoState: 'done', undone: count, kept: 0, lines: [] })
  expect(failing.failed.size).toBeGreaterThan(before + 4)
  expect(await rowsOf(projectId)).toEqual(nothing)
})
