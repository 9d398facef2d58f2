import type { ImportCursor } from '../../../drizzle/schema/imports.ts'
import type { Mapping } from '../../../modules/imports/mapping.ts'
import type { Source } from '../../../modules/imports/sources.ts'
import type { Caller } from '../../../src/identity/rights.ts'
import type { Sql } from '../../../src/postgres/database.ts'

/** A running import. Each step changes `cursor`, and the step `read` also `mapping`. */
export interface RunningImport {
  readonly id: string
  readonly projectId: string
  readonly caller: Caller
  readonly source: Source
  readonly dryRun: boolean
  mapping: Mapping
  cursor: ImportCursor
}

/** Continues or starts the import. Returns undefined if it has ended. */
export async function beginImport(sql: Sql, id: string): Promise<RunningImport | undefined> {
  const first: ImportCursor = { step: 'read', n: 0 }
  const [begun] = await sql<RunningImport[]>`
    update imports set state = 'running', started_at = coalesce(started_at, now()),
      cursor = coalesce(cursor, ${JSON.stringify(first)}::text::jsonb)
    where id = ${id} and state in ('queued', 'running')
    returning id, project_id, caller, source, dry_run, mapping, cursor`
  return begun
}

/** @param error why the import failed; undefined if it is done */
export async function finishImport(sql: Sql, id: string, error?: string): Promise<void> {
  await sql`
    update imports set state = ${error === undefined ? 'done' : 'failed'}, error = ${error ?? null}, finished_at = now(),
      progress = case when ${error === undefined} then 1 else progress end
    where id = ${id} and state in ('queued', 'running')`
}

/** The import was cancelled, or another worker has continued it. */
export class ImportTaken extends Error {}
