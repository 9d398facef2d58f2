import { expect, test } from 'bun:test'
import { newId } from '../../../src/ids.ts'
import { reportChangedTasks } from '../../../workers/imports/report.ts'
import type { RunningImport } from '../../../workers/imports/import-row.ts'
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

test('an import corrects the outcomes of the report in pages of tasks', async () => {
  const [id, count] = [newId(), 7]
  await sql`
    insert into import_items (import_id, kind, n, row, key, id, item, outcome)
    select ${id}, 'task', n, n + 1, 'k' || n, ${newId()}, case when n = 4 then '{"externalId":"X"}' else '{}' end::jsonb,
      case when n = 6 then 'unchanged' else 'updated' end
    from generate_series(0, ${count}::int4) n`
  await sql`
    insert into import_lines (import_id, n, row, external_id, outcome, message)
    select ${id}, n, n + 1, case when n = 4 then 'X' else 'planka:k' || n end, 'unchanged', '' from generate_series(0, ${count}::int4) n`
  const before = (await lineChanges()).length
  const running = { id, source: 'planka' } as RunningImport
  await reportChangedTasks({ sql, running, throttle: { ...fast, isOver: () => true } }, 3)
  expect((await lineChanges()).slice(before)).toEqual([3, 3, 1])
  const lines = await sql`select row from import_lines where import_id = ${id} and outcome = 'unchanged'`
  expect([...lines]).toEqual([{ row: 7 }])
})
