import { expireEvents, upTo } from '../../kit.ts'
import { openUndoImport } from '../../../workers/imports/undo-import.ts'
import { task } from '../run/items.ts'
import { fast, openRunScene, tasksOf } from '../run/scene.ts'

const { newProject, importItems, undo, resultOf, services, sql } = await openRunScene(2)
const execute = openUndoImport(services)

/** Expires the events of a project up to a seq. */
async function expire(projectId: string, seq: number) {
  await sql`update events set at = now() - interval '9 days' where project_id = ${projectId} and seq <= ${seq}`
  await expireEvents(sql, 7, fast)
}

const batchesOf = async (id: string) =>
  (
    await sql<{ seq: number }[]>`
      select seq::int4 as seq from import_batches where import_id = ${id} order by seq`
  ).map(({ seq }) => seq)

test('an undo of an import whose events have expired fails, also in part, and changes nothing', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(
    owner,
    projectId,
    upTo(5).map((n) => task(String(n))),
  )
  const batches = await batchesOf(id)
  expect(batches).toHaveLength(3)
  for (const seq of [batches[0]!, batches[1]!, batches[2]! + 1]) {
    await expire(projectId, seq)
    expect(await undo(owner, id)).toEqual({ undoState: 'failed', undone: 0, kept: 0, lines: [] })
    expect((await resultOf(id)).error).toBe('The import cannot be undone, because its history has expired')
    expect(await tasksOf(owner, projectId)).toHaveLength(5)
  }
})

test('an undo fails at a batch whose events expire while the undo runs', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(
    owner,
    projectId,
    upTo(5).map((n) => task(String(n))),
  )
  const [first] = await batchesOf(id)
  let slices = 0
  const isOver = () => ++slices > 0
  expect(
    await undo(owner, id, { ...fast, isOver }, async (data, throttle) => {
      if (slices === 2) await expire(projectId, first!)
      await execute(data, throttle)
    }),
  ).toMatchObject({ undoState: 'failed', undone: 3, kept: 0 })
  expect((await resultOf(id)).error).toBe(
    'The rest of the import cannot be undone, because its history has expired',
  )
  expect(await tasksOf(owner, projectId)).toHaveLength(2)
})

test('an undo does not depend on events from before the import', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, [task('1')])
  const [first] = await batchesOf(id)
  await expire(projectId, first! - 1)
  expect(await undo(owner, id)).toMatchObject({ undoState: 'done', undone: 1 })
})
