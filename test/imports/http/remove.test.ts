import { firstIdAt } from '../../../src/ids.ts'
import { expireImports, type Person, purgeProject, rowsRead } from '../../kit.ts'
import { rowsWith } from '../../workers/remains.ts'
import { openImportScene, start } from './scene.ts'

const scene = await openImportScene()
const { sql, newProject } = scene
const throttle = { batchRows: 7, pauseMs: 0 }
const tables = ['import_batches', 'import_chunks', 'import_items', 'import_lines', 'imports']

const tablesWith = async (id: string) =>
  Object.keys(await rowsWith(sql, [id]))
    .filter((name) => name.startsWith('import'))
    .sort()

/** Inserts an import with rows in every table. */
async function fullImport(owner: Person, projectId: string) {
  const { id } = (await start(owner, projectId)).body
  await sql`insert into import_items (import_id, kind, n, "row", key, id, item)
    select ${id}, 'task', n, n, n::text, gen_random_uuid(), '{}' from generate_series(1, 30) n`
  await sql`insert into import_lines (import_id, n, outcome, message) select ${id}, n, 'updated', 'M' from generate_series(1, 30) n`
  await sql`insert into import_batches (import_id, seq) select ${id}, n from generate_series(1, 30) n`
  return id
}

test('removes a file without an import after an hour, and an upload of the previous release after 10 minutes', async () => {
  const { owner, projectId } = await newProject()
  const [young, old] = [59, 61].map((minutes) => firstIdAt(Date.now() - minutes * 60_000)) as [string, string]
  for (const id of [young, old])
    await sql`insert into import_chunks (import_id, n, bytes) select ${id}, n, ''::bytea from generate_series(0, 30) n`
  const id = await fullImport(owner, projectId)
  await scene.set(id, { state: 'receiving', created_at: minutesAgo(9) })
  await expireImports(sql, throttle)
  expect([await tablesWith(id), await tablesWith(young), await tablesWith(old)]).toEqual([
    tables,
    ['import_chunks'],
    [],
  ])
  await scene.set(id, { created_at: minutesAgo(11) })
  await expireImports(sql, throttle)
  expect(await tablesWith(id)).toEqual([])
})

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()

test('removes the file of an ended import at once, and the rest 30 days after its end, unless it is being undone', async () => {
  const { owner, projectId } = await newProject()
  const id = await fullImport(owner, projectId)
  await scene.end(id, { finished_at: minutesAgo(29 * 1_440) })
  await expireImports(sql, throttle)
  expect(await tablesWith(id)).toEqual(['import_batches', 'import_lines', 'imports'])
  await scene.set(id, { finished_at: minutesAgo(31 * 1_440), undo_state: 'running' })
  await expireImports(sql, throttle)
  expect((await owner.get(`/imports/${id}`)).status).toBe(200)
  await scene.set(id, { undo_state: 'done' })
  await expireImports(sql, throttle)
  expect(await tablesWith(id)).toEqual([])
})

test('searches for files of ended imports without reading the items of a large one', async () => {
  const newImport = async () => {
    const { owner, projectId } = await newProject()
    return (await start(owner, projectId)).body.id
  }
  const ended = await Promise.all(Array.from({ length: 20 }, newImport))
  for (const id of ended) await scene.end(id)
  await expireImports(sql, { batchRows: 20, pauseMs: 0 })
  await sql`alter table import_items set (autovacuum_enabled = false)`
  await sql`insert into import_items (import_id, kind, n, "row", key, id, item)
    select ${await newImport()}, 'task', n, n, n::text, gen_random_uuid(), '{}' from generate_series(1, 5000) n`
  await sql`analyze import_items`
  await sql.begin(async (transaction) => {
    const tx = transaction as unknown as typeof sql
    await expireImports(tx, throttle)
    expect(await rowsRead(tx, 'import_items')).toBeLessThan(5_000)
  })
})

test('does not remove an active import, however old', async () => {
  const { owner, projectId } = await newProject()
  const id = await fullImport(owner, projectId)
  await scene.set(id, { state: 'running', created_at: minutesAgo(99_999) })
  await expireImports(sql, throttle)
  expect(await tablesWith(id)).toEqual(tables)
})

test('purging a project removes its imports, and no import of another project', async () => {
  const { owner, projectId } = await newProject()
  const other = await newProject()
  const ids = [await fullImport(owner, projectId), await fullImport(other.owner, other.projectId)]
  await owner.delete(`/projects/${projectId}`)
  await purgeProject(sql, projectId, throttle)
  expect(await Promise.all(ids.map(tablesWith))).toEqual([[], tables])
})
