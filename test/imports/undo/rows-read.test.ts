import { readBatch } from '../../../workers/imports/undo-events.ts'
import { rowsRead, upTo } from '../../kit.ts'
import { comment, task } from '../run/items.ts'
import { openRunScene } from '../run/scene.ts'

const { newProject, importItems, services, sql } = await openRunScene()

/** Reads the latest batch of an import. Returns the number of rows that Postgres has read from each table. */
async function rowsReadFor(importId: string, projectId: string, userId: string, tables: string[]) {
  const [batch] = await sql<
    { seq: string }[]
  >`select max(seq) as seq from import_batches where import_id = ${importId}`
  return sql.begin(async (transaction) => {
    const tx = transaction as unknown as typeof sql
    const undo = { services, sql: tx, importId, projectId, caller: { userId } }
    expect((await readBatch(undo, Number(batch!.seq))).length).toBeGreaterThanOrEqual(200)
    const read: number[] = []
    for (const table of tables) read.push(await rowsRead(tx, table))
    return read
  })
}

test('reads few events for each change, also before Postgres has statistics for the project', async () => {
  const file = upTo(600).map((n) => task(`${n}`, { labels: ['bug'] }))
  const tables = ['events', 'import_batches', 'tasks']
  for (const table of tables) await sql`alter table ${sql(table)} set (autovacuum_enabled = false)`
  const old = await newProject()
  await importItems(old.owner, old.projectId, file)
  await sql`analyze ${sql(tables)}`
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, file)
  for (const read of await rowsReadFor(id, projectId, owner.id, tables)) expect(read).toBeLessThan(20 * 200)
})

test('reads the history of a task once for all its changes in a batch', async () => {
  const comments = 1_000
  const file = [task('1'), ...upTo(comments).map((n) => comment('1', `Comment ${n}`))]
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, file)
  const [read] = await rowsReadFor(id, projectId, owner.id, ['events'])
  // Postgres also reads the events of the batch, with one of several plans. One history for each change would be 200 times as many.
  expect(read).toBeLessThan(10 * comments)
})
