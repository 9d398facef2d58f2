import type { ImportedItem } from '../../../modules/imports/items.ts'
import type { Reader } from '../../../modules/imports/readers/file.ts'
import { connectionError } from '../../../src/postgres/errors.ts'
import { unavailable } from '../../../src/responses/errors.ts'
import type { Services } from '../../../src/services.ts'
import { openRunImport } from '../../../workers/imports/run-import.ts'
import { openUndoImport } from '../../../workers/imports/undo-import.ts'
import type { Throttle } from '../../../workers/throttle.ts'
import { endLostImports, make, SliceEnded, type Sql, upTo } from '../../kit.ts'
import { comment, fast, fileOf, lineReader, openRunScene, perBatch, subtask, task } from './scene.ts'

const scene = await openRunScene()
const { queue, work, execute, undo, executeUndo, workerWith, resultOf, services, sql } = scene
const readers = { planka: lineReader }

const count = 6
const file = fileOf([
  { kind: 'project', description: 'An engine' } as ImportedItem,
  { kind: 'field', key: 'size', name: 'Size', type: 'number' },
  { kind: 'field', key: 'shape', name: 'Shape', type: 'text' },
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
type Begun = Awaited<ReturnType<typeof begin>>

/** Counts the rows of a project. */
async function rowsOf(projectId: string) {
  const [row] = await sql<Record<string, number>[]>`
    with t as materialized (select id, blocked_by_ids from tasks where project_id = ${projectId})
    select count(*)::int4 as tasks, count(blocked_by_ids)::int4 as links,
      (select count(*)::int4 from subtasks s join t on t.id = s.task_id) as subtasks,
      (select count(*)::int4 from comments c join t on t.id = c.task_id) as comments,
      (select count(*)::int4 from labels where project_id = ${projectId}) as labels,
      (select count(*)::int4 from task_fields where project_id = ${projectId}) as fields,
      (select count(description)::int4 from projects where id = ${projectId}) as descriptions
    from t`
  return { ...row! }
}

/** The file places the last task first. */
const expectWhole = async ({ owner, projectId }: Pick<Begun, 'owner' | 'projectId'>) => {
  expect(await rowsOf(projectId)).toEqual(whole)
  const { body } = await owner.get(`/tasks?projectId=${projectId}&sort=position`)
  expect(body.map(({ number }) => number)).toEqual([count, ...upTo(count - 1)])
}

const unrecorded = (id: string, projectId: string) => sql`
  select distinct batch from events where project_id = ${projectId} and batch is not null
    and batch not in (select seq from import_batches where import_id = ${id})`

/** Inserts the job of an import. Returns a function that begins the undo of the import, as a worker does. */
async function withJob({ owner, projectId, id: importId }: Begun, isParked = false) {
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

/** The worker of the undo is killed after each second batch. */
async function expectUndone({ owner, projectId, id }: Begun) {
  const undoing = workerWith(async (commit) => {
    if (commit % 2 === 1) throw unavailable('killed')
  })
  const undone = (await rowsOf(projectId)).tasks!
  const result = await undo(owner, id, fast, undoing.undo)
  expect(result).toEqual({ undoState: 'done', undone, kept: 0, lines: [] })
  expect(await rowsOf(projectId)).toEqual(nothing)
}

const steps = ['names', 'tasks', 'children', 'links'].map((step, n) => [step, n + 1] as const)
const ends = ['continues', 'is cancelled', 'loses its job']

test.each(steps.flatMap(([step, n]) => ends.map((end) => [step, end, n] as const)))(
  'an import whose worker is killed before it records a batch of the step %s doubles and loses nothing, if it then %s',
  async (_, end, lastCommit) => {
    const begun = await begin()
    const { owner, projectId, id } = begun
    const killed = workerWith(async (commit) => {
      if (commit < lastCommit) return
      if (end === 'is cancelled') await owner.delete(`/imports/${id}`)
      throw unavailable('killed')
    })
    await expect(killed.run({ importId: id }, fast)).rejects.toBeInstanceOf(SliceEnded)
    expect(await unrecorded(id, projectId)).toHaveLength(1)
    if (end === 'loses its job') {
      // An undo does not wait for a dead letter.
      const { beginUndo } = await withJob(begun, true)
      await endLostImports(sql, fast)
      const error = 'The worker failed at each attempt'
      expect(await resultOf(id)).toMatchObject({ state: 'failed', error })
      await beginUndo()
      return expect(await rowsOf(projectId)).toEqual(nothing)
    }
    await work(id)
    expect(await unrecorded(id, projectId)).toHaveLength(0)
    if (end === 'is cancelled') expect(await resultOf(id)).toMatchObject({ state: 'cancelled' })
    else {
      expect(await resultOf(id)).toMatchObject({ state: 'done', counts: created, lines: [] })
      await expectWhole(begun)
    }
    await expectUndone(begun)
  },
)

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

const disturbances: Record<string, (begun: Begun) => Promise<unknown>> = {
  async 'stops after each batch'({ id }) {
    expect(await work(id, perBatch, openRunImport(services, { readers, batchRows: 2 }))).toBeGreaterThan(8)
  },
  // Two workers can run the same job if Redis has lost the job, or if the lock of a paused worker has expired.
  'runs in two workers': ({ id }) => Promise.all([work(id), work(id)]),
  async 'is read by a second worker while the first pauses between deletions'({ id }) {
    // More items of an interrupted step than one statement deletes.
    await sql`insert into import_items (import_id, kind, n, row, key, id, item)
      select ${id}, 'task', n, n, 'old ' || n, gen_random_uuid(), '{}' from generate_series(1, 2001) n`
    const isOver = Promise.withResolvers<void>()
    const { run } = workerWith(() => isOver.promise)
    let second: Promise<number> | undefined
    const pauses = () => {
      second ??= work(id, fast, run)
      return 0
    }
    await execute({ importId: id }, { ...fast, pauseMs: 1_000, pauses }).catch(() => {})
    isOver.resolve()
    expect(await second).toBeGreaterThan(0)
  },
  async 'gets a temporary error from each of its statements'({ id }) {
    const { services, failed } = failingOnce()
    const slices = await work(id, fast, openRunImport(services, { readers }))
    // Some statements are sent together, so they fail in the same slice.
    expect(slices).toBeGreaterThan(failed.size - 3)
    expect(failed.size).toBeGreaterThan(15)
  },
}

test.each(Object.entries(disturbances))(
  'an import that %s creates each row once, and deletes its file; its undo then deletes each row once',
  async (_, run) => {
    const begun = await begin()
    const { owner, projectId, id } = begun
    await run(begun)
    expect(await resultOf(id)).toMatchObject({ state: 'done', counts: created, lines: [] })
    await expectWhole(begun)
    for (const table of ['import_items', 'import_chunks'])
      expect(await sql`select from ${sql(table)} where import_id = ${id}`).toHaveLength(0)
    // The undo skips events that are already undone.
    const [batch] = await sql<{ seq: number }[]>`
      select max(seq)::float8 as seq from import_batches where import_id = ${id}`
    expect((await owner.post(`/projects/${projectId}/undo`, { batch: batch!.seq })).status).toBe(200)
    const failing = failingOnce()
    const result = await undo(owner, id, perBatch, openUndoImport(failing.services))
    expect(result).toEqual({ undoState: 'done', undone: count, kept: 0, lines: [] })
    expect(failing.failed.size).toBeGreaterThan(4)
    expect(await rowsOf(projectId)).toEqual(nothing)
  },
)

test('an import of a file with tasks that the project has already creates the others, and does not move those', async () => {
  const { owner, projectId } = await scene.newProject()
  await work(await queue(owner, projectId, file.split('\n').slice(0, 6).join('\n')))
  const id = await queue(owner, projectId, file)
  await work(id)
  const counts = { ...created, created: count - 1, unchanged: 1 }
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts, lines: [] })
  expect(await rowsOf(projectId)).toEqual(whole)
})

test('an undo waits until the worker of a cancelled import has recorded its last batch', async () => {
  const begun = await begin()
  const { owner, projectId, id } = begun
  const { jobId, beginUndo } = await withJob(begun)
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
  const run = openRunImport(services, { readers: { planka: pausing } })
  // The first page may be stored, and end the slice, before the reader goes on.
  const first = run({ importId: id }, fast).catch((error: unknown) => error)
  await paused.promise
  // Another worker turns sub-items into subtasks, and imports the first tasks.
  while ((await resultOf(id)).counts.created === 0) await execute({ importId: id }, perBatch).catch(() => {})
  going.resolve()
  expect(await first).toBeInstanceOf(SliceEnded)
  await work(id)
  const counts = { read: pageRows, created: pageRows, updated: 0, unchanged: 0, rejected: 0 }
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts, lines: [] })
})
