import { expect, test } from 'bun:test'
import type { Reader } from '../../../modules/imports/readers/reader.ts'
import { openRunImport } from '../../../workers/imports/run-import.ts'
import { openUndoImport } from '../../../workers/imports/undo-import.ts'
import { SliceEnded } from '../../../workers/throttle.ts'
import { upTo } from '../../races/pair.ts'
import { task } from './items.ts'
import { fast, fileOf, lineReader, openRunScene } from './scene.ts'

// Two workers can run the same job if Redis has lost the job, or if the lock of a paused worker has expired.
const {
  newProject,
  importItems,
  queue,
  work,
  execute,
  resultOf,
  services,
  sql,
  client: _,
} = await openRunScene()
const pageRows = 500

test('a worker that still reads a file that another worker has read stores nothing', async () => {
  const { owner, projectId } = await newProject()
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
  const created = async () =>
    (await sql<{ created: number }[]>`select created from imports where id = ${id}`)[0]!.created
  while ((await created()) === 0)
    await execute({ importId: id }, { ...fast, isOver: () => true }).catch(() => {})
  going.resolve()
  expect(await first.catch((error: unknown) => error)).toBeInstanceOf(SliceEnded)
  await work(id)
  const counts = { read: pageRows, created: pageRows, updated: 0, unchanged: 0, rejected: 0 }
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts, lines: [] })
})

test('two workers that undo the same import undo each task once', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, [task('1'), task('2', { labels: ['bug'] })])
  await sql`update imports set undo_state = 'queued' where id = ${id}`
  const [read, committed, stored] = [0, 1, 2].map(() => Promise.withResolvers<void>())
  const caller = JSON.stringify({ userId: owner.id })
  const undoWith = (run: typeof services.runHere) => {
    const undo = openUndoImport({ ...services, runHere: run })
    return work(id, fast, (data, one) => undo({ ...data, caller }, one))
  }
  const first = undoWith(async (request) => {
    await read!.promise
    const reply = await services.runHere(request)
    committed!.resolve()
    await stored!.promise
    return reply
  })
  await undoWith(async (request) => {
    read!.resolve()
    await committed!.promise
    return services.runHere(request)
  })
  stored!.resolve()
  await first
  const [row] = await sql<object[]>`select undo_state, undone, kept from imports where id = ${id}`
  expect(row).toEqual({ undoState: 'done', undone: 2, kept: 0 })
  expect((await resultOf(id)).lines).toEqual([])
})
