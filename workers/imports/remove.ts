import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { firstIdAt, nowMs } from '../../src/ids.ts'
import { purgeRows, type Throttle, whilePagesAreFull } from '../throttle.ts'
import { undoError } from './undo-import.ts'

const keptDays = 30
/** The maximum number of imports of one statement. The next statement continues. */
const pageImports = 100

const pageRows = { import_items: 2_000, import_chunks: 20, import_lines: 2_000, import_batches: 2_000 }
type ImportTable = keyof typeof pageRows
const importTables = Object.keys(pageRows) as ImportTable[]

/** Longer than the 10 minutes after which an upload ends. */
const maxUploadMs = 3_600_000

/** Removes imports that ended 30 days ago, and files without an import, whose upload was interrupted. */
export async function expireImports(sql: Sql, throttle: Throttle): Promise<void> {
  const isOld = sql`finished_at < now() - ${keptDays}::int4 * interval '1 day'`
  const isEnded = sql`coalesce(undo_state, 'done') in ('done', 'failed')`
  await removeImports(sql, sql`${isOld} and ${isEnded} or state = 'removing'`, throttle)
  const hasNoImport = sql`
    import_id < ${firstIdAt(nowMs() - maxUploadMs)} and not exists (select from imports where id = import_id)`
  await deleteRows(sql, 'import_chunks', hasNoImport, throttle)
}

/** Marks the imports as `removing` first, so that no upload adds chunks, and deletes their rows in `imports` last. */
export const removeImports = (sql: Sql, where: SqlPart, throttle: Throttle): Promise<void> =>
  whilePagesAreFull({ ...throttle, batchRows: pageImports }, async () => {
    const page = await sql<{ id: string }[]>`
      update imports set state = 'removing' where id = any(array(select id from imports where ${where} limit ${pageImports}))
      returning id`
    const ids = sql`any(${page.map(({ id }) => id)}::uuid[])`
    for (const table of importTables) await deleteRows(sql, table, sql`import_id = ${ids}`, throttle)
    await sql.begin(async (tx) => {
      await tx`delete from imports where id = ${ids}`
      // A worker may have added a page of rows since. It locks the row of the import, so it cannot add more.
      for (const table of importTables) await tx`delete from ${tx(table)} where import_id = ${ids}`
    })
    return page.length
  })

export const deleteRows = (sql: Sql, table: ImportTable, where: SqlPart, throttle: Throttle): Promise<void> =>
  purgeRows(sql, table, where, { ...throttle, batchRows: pageRows[table] })

/** Deletes the file and its items. The report and the batches remain. */
export async function deleteUpload(sql: Sql, importId: string, throttle: Throttle): Promise<void> {
  for (const table of ['import_items', 'import_chunks'] as const)
    await deleteRows(sql, table, sql`import_id = ${importId}`, throttle)
}

const gaveUp = 'The worker failed at each attempt'

/** Ends imports whose job became a dead letter or is lost. */
export async function endLostImports(sql: Sql, throttle: Throttle): Promise<void> {
  await sql`
    update imports i set undo_state = 'failed', error = ${undoError(sql, sql`${gaveUp}::text`)}
    where undo_state in ('queued', 'running') and ${hasNoJob(sql, 'undo-import')}`
  const lost = await sql<{ id: string }[]>`
    update imports i set state = 'failed', finished_at = now(), error = ${gaveUp}
    where state in ('queued', 'running') and ${hasNoJob(sql, 'run-import')} returning id`
  for (const { id } of lost) await deleteUpload(sql, id, throttle)
}

const hasNoJob = (sql: Sql, name: string) => sql`not exists (
  select from outbox o where o.project_id = i.project_id and o.name = ${name} and o.data ->> 'importId' = i.id::text
    and o.parked_at is null)`
