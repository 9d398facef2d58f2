import { allPages, type Sql } from '../../kit.ts'
import { insertKept, insertLines } from '../../../workers/imports/report.ts'
import { openRunScene } from './scene.ts'

const { newProject, importItems, queue, work, undo, sql } = await openRunScene()

const linesOf = (count: number, outcome = 'rejected') =>
  Array.from({ length: count }, (_, n) => ({ row: n + 1, externalId: null, outcome, message: `Line ${n}` }))

const insert = (importId: string, count: number) =>
  insertLines(sql as unknown as Sql, importId, linesOf(count))

test('a report of 100,000 rejected rows has 10,000 lines, and says how many are left out', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, [], { dryRun: true })
  for (let page = 0; page < 25; page++) await insert(id, 4_000)
  const report = (await allPages(owner, `/imports/${id}/report?limit=200`)).flat()
  expect(report).toHaveLength(10_001)
  expect(report[9_999]).toMatchObject({ row: 2_000, message: 'Line 1999' } as object)
  expect(report.at(-1)).toEqual({
    ...{ row: null, externalId: null, outcome: 'rejected' },
    message: '90000 further lines are left out, because a report has at most 10000 lines',
  } as never)
})

test('the kept lines of an undo have their own limit, and a further undo replaces them', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, [])
  await insert(id, 10_003)
  const lines = async () => {
    const [row] = await sql<{ all: number; kept: number; last: string }[]>`
      select count(*)::int4 as all, (count(*) filter (where outcome = 'kept'))::int4 as kept,
        (select message from import_lines where import_id = ${id} order by n desc limit 1) as last
      from import_lines where import_id = ${id}`
    return row!
  }
  for (let page = 0; page < 2; page++) await insertKept(sql as unknown as Sql, id, linesOf(3, 'kept'), 4)
  expect(await lines()).toEqual({
    all: 10_001 + 5,
    kept: 5,
    last: '2 further lines are left out, because a report has at most 4 lines',
  })
  await undo(owner, id)
  expect(await lines()).toMatchObject({ all: 10_001, kept: 0 })
})

test('the oldest reports of an account above 50,000 lines are replaced by one line each, when an import ends', async () => {
  const [{ owner, projectId }, other] = [await newProject(), await newProject()]
  const foreign = await importItems(other.owner, other.projectId, [])
  await insert(foreign.id, 10_000)
  const ids: string[] = []
  for (let n = 0; n < 6; n++) {
    const id = await queue(owner, projectId, '', { dryRun: true })
    await work(id)
    await insert(id, 9_000)
    await insertKept(sql as unknown as Sql, id, linesOf(1, 'kept'))
    ids.push(id)
  }
  await importItems(owner, projectId, [], { dryRun: true })
  const reports = await sql<{ importId: string; count: number }[]>`
    select import_id, count(*)::int4 as count from import_lines where import_id = any(${[...ids, foreign.id]}::uuid[])
    group by import_id order by import_id = ${foreign.id}, import_id`
  expect(reports.map(({ count }) => count)).toEqual([2, 9_001, 9_001, 9_001, 9_001, 9_001, 10_000])
  const [first, kept] = (await owner.get(`/imports/${ids[0]}/report`)).body as unknown as object[]
  expect(first).toMatchObject({
    message: expect.stringMatching(/^9000 further lines are left out, because the reports of/),
  })
  expect(kept).toMatchObject({ outcome: 'kept' })
})
