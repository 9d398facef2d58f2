import type { Sql } from '../../src/postgres/database.ts'
import { type Throttle, whilePagesAreFull } from '../throttle.ts'

const pageRows = { import_items: 2_000, import_chunks: 20, import_lines: 2_000, import_batches: 2_000 }
export type ImportTable = keyof typeof pageRows
export const importTables = Object.keys(pageRows) as ImportTable[]

export const deleteRows = (
  sql: Sql,
  table: ImportTable,
  importId: string,
  throttle: Throttle,
): Promise<void> =>
  whilePagesAreFull({ ...throttle, batchRows: pageRows[table] }, async () => {
    const { count } = await sql`
      delete from ${sql(table)} where ctid = any(array(
        select ctid from ${sql(table)} where import_id = ${importId} limit ${pageRows[table]}))`
    return count
  })

/** Deletes the file and its items. The report and the batches remain. */
export async function deleteUpload(sql: Sql, importId: string, throttle: Throttle): Promise<void> {
  await deleteRows(sql, 'import_items', importId, throttle)
  await deleteRows(sql, 'import_chunks', importId, throttle)
}
