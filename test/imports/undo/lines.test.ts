import { expect, test } from 'bun:test'
import { upTo } from '../../races/pair.ts'
import { task } from '../run/items.ts'
import { fast, openRunScene } from '../run/scene.ts'

const { newProject, importItems, undo, resultOf, sql } = await openRunScene()

/** Returns the sizes of the statements that change lines of reports. */
async function watchLines() {
  await sql`create table line_changes (n serial, lines int)`
  await sql`create function count_lines() returns trigger language plpgsql as
    'begin insert into line_changes (lines) select count(*) from changed; return null; end'`
  await sql`create trigger deleted after delete on import_lines referencing old table as changed
    for each statement execute function count_lines()`
  await sql`create trigger updated after update on import_lines referencing old table as changed
    for each statement execute function count_lines()`
  return async () =>
    (await sql<{ lines: number }[]>`select lines from line_changes where lines > 0 order by n`).map(
      ({ lines }) => lines,
    )
}
const lineChanges = await watchLines()

test('a second undo deletes the kept lines of the first undo in pages', async () => {
  const { owner, projectId } = await newProject()
  const count = 7
  const first = await importItems(owner, projectId, [
    task('0', { assignee: { name: 'Ada' } }),
    ...upTo(count).map((n) => task(String(n))),
  ])
  await importItems(
    owner,
    projectId,
    upTo(count).map((n) => task(String(n), { title: 'New' })),
  )
  expect((await undo(owner, first.id)).lines).toHaveLength(count)
  expect(await lineChanges()).toEqual([])
  let slices = 0
  const again = await undo(owner, first.id, { ...fast, batchRows: 3, isOver: () => ++slices > 0 })
  expect(again.lines).toHaveLength(count)
  expect(await lineChanges()).toEqual([3, 3, 1])
  expect((await resultOf(first.id)).lines).toHaveLength(count + 1)
})
