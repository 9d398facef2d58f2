import { insertLines as addLines } from '../../../workers/imports/batches.ts'
import { allPages, type Sql, upTo } from '../../kit.ts'
import { openRunScene, task } from './scene.ts'

const { newProject, importItems, undo, sql } = await openRunScene()

/** Adds lines to the report of an import. */
const insertLines = (importId: string, count: number) => sql`
  insert into import_lines (import_id, n, outcome, message)
  select ${importId}, n, 'rejected', 'Line ' || n from generate_series(1, ${count}::int) n`
const kept = (count: number) =>
  upTo(count).map((row) => ({ row, externalId: null, outcome: 'kept', message: `Kept ${row}` }))

test('a report of 12,000 rejected rows has 10,000 lines, and says how many are left out', async () => {
  const { owner, projectId } = await newProject()
  const items = upTo(12_000).map((n) => task(`${n}`, { problem: 'The row has no title' }))
  const { id } = await importItems(owner, projectId, items)
  const report = (await allPages(owner, `/imports/${id}/report?limit=200`)).flat()
  expect(report).toHaveLength(10_001)
  expect(report[9_999]).toMatchObject({ row: 10_000, outcome: 'rejected' } as object)
  expect(report.at(-1)).toEqual({
    ...{ row: null, externalId: null, outcome: 'rejected' },
    message: '2000 further lines are left out, because a report has at most 10000 lines',
  } as never)
})

test('the kept lines of an undo follow the lines of the import, and a further undo replaces them', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, [])
  await insertLines(id, 10_001)
  const lines = async () => {
    const all = await sql<{ outcome: string; message: string }[]>`
      select outcome, message from import_lines where import_id = ${id} order by n`
    return {
      all: all.length,
      kept: all.filter(({ outcome }) => outcome === 'kept').length,
      last: all.at(-1)!.message,
    }
  }
  for (let page = 0; page < 2; page++) await addLines(sql as unknown as Sql, id, kept(3), 10_005)
  const last = '2 further lines are left out, because a report has at most 10005 lines'
  expect(await lines()).toEqual({ all: 10_001 + 5, kept: 5, last })
  await undo(owner, id)
  expect(await lines()).toMatchObject({ all: 10_001, kept: 0 })
})

test('a line has the replacement character for characters that Postgres cannot store', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, [])
  const line = { row: null, externalId: null, outcome: 'kept' }
  await addLines(sql as unknown as Sql, id, [{ ...line, message: 'Cut within \ud83d' }])
  const report = (await allPages(owner, `/imports/${id}/report`)).flat()
  expect(report).toEqual([{ ...line, message: 'Cut within \ufffd' }] as never)
})

test('the oldest reports of an account above 50,000 lines are replaced by one line each, when an import ends', async () => {
  const [{ owner, projectId }, other] = [await newProject(), await newProject()]
  const foreign = await importItems(other.owner, other.projectId, [])
  await insertLines(foreign.id, 10_000)
  const ids: string[] = []
  for (let n = 0; n < 6; n++) {
    const { id } = await importItems(owner, projectId, [], { dryRun: true })
    ids.push(id)
  }
  for (const id of ids) {
    await insertLines(id, 9_000)
    await addLines(sql as unknown as Sql, id, kept(1))
  }
  await importItems(owner, projectId, [], { dryRun: true })
  const reports = await sql<{ importId: string; count: number }[]>`
    select import_id, count(*)::int4 as count from import_lines where import_id = any(${[...ids, foreign.id]}::uuid[])
    group by import_id order by import_id = ${foreign.id}, import_id`
  expect(reports.map(({ count }) => count)).toEqual([2, 9_001, 9_001, 9_001, 9_001, 9_001, 10_000])
  const [first, second] = (await owner.get(`/imports/${ids[0]}/report`)).body as unknown as object[]
  const message = expect.stringMatching(/^9000 further lines are left out, because the reports of/)
  expect([first, second]).toMatchObject([{ message }, { outcome: 'kept' }])
})
