import type { TaskRow } from '../../../drizzle/rows.ts'
import type { Previous } from '../../../modules/imports/command/operations.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import { jsonBytes, untilPageFull } from '../../../src/reads/pages.ts'
import type { RunningImport } from '../run/import-row.ts'

/** Earlier events are not read: more events of a task, or more bytes of the tasks of a batch. */
const maxEvents = 1_000
const maxBytes = 16_000_000

type Import = Pick<RunningImport, 'id' | 'projectId' | 'source'>

/** True if the project has an earlier import of the same source. */
export async function isRepeated(sql: Sql, { id, projectId, source }: Import): Promise<boolean> {
  const [earlier] = await sql`
    select from imports where project_id = ${projectId} and source = ${source} and id < ${id} and not dry_run limit 1`
  return earlier !== undefined
}

/** Returns the fields that the file has columns for, or undefined for all fields. */
export async function readColumns(sql: Sql, { id }: Import): Promise<string[] | undefined> {
  const [row] = await sql<{ item: string[] }[]>`
    select item from import_items where import_id = ${id} and kind = 'columns'`
  return row?.item
}

/** Returns the latest values that imports of the same source gave to tasks, by external id. */
export async function readImported(
  sql: Sql,
  { projectId, source }: Import,
  externalIds: string[],
): Promise<Map<string, Previous>> {
  const rows = sql`
    select t.external_id, e.before, e.after from unnest(${externalIds}::text[]) q(external_id)
    cross join lateral (
      select * from tasks where project_id = ${projectId} and external_id = q.external_id limit 1) t
    cross join lateral (
      select * from events x where x.task_id = t.id order by x.id desc limit ${maxEvents}) e
    where e.project_id = t.project_id and e.entity = 'task' and e.after is not null
      and exists (select from imports i join import_batches b on b.import_id = i.id
        where i.project_id = ${projectId} and i.source = ${source} and b.seq = e.batch)
    order by e.id desc`
  const events = await sql<{ externalId: string; before: Partial<TaskRow> | null; after: TaskRow }[]>`
    ${untilPageFull(sql, rows, jsonBytes(sql, sql`after`), maxBytes)}`
  const imported = new Map<string, Previous>()
  for (const { externalId, before, after } of events) {
    const changed = Object.keys(before ?? after) as (keyof Previous)[]
    const values = Object.fromEntries(changed.map((name) => [name, after[name]]))
    imported.set(externalId, { ...values, ...imported.get(externalId) })
  }
  return imported
}
