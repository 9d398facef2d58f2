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

/**
 * Continues or starts the import. Returns undefined if it has ended, and `waits` while an older import of the account
 * runs, so that one account cannot occupy a worker.
 */
export async function beginImport(sql: Sql, id: string): Promise<RunningImport | 'waits' | undefined> {
  const first: ImportCursor = { step: 'read', n: 0 }
  const [begun] = await sql<RunningImport[]>`
    update imports set state = 'running', started_at = coalesce(started_at, now()),
      cursor = coalesce(cursor, ${JSON.stringify(first)}::text::jsonb)
    where id = ${id} and state in ('queued', 'running') and not exists (
      select from imports o where o.state = 'running' and o.id < imports.id
        and o.caller ->> 'userId' = imports.caller ->> 'userId')
    returning id, project_id, caller, source, dry_run, mapping, cursor`
  if (begun) return begun
  return (await isActive(sql, id)) ? 'waits' : undefined
}

/** False if the import has ended or was cancelled. */
export async function isActive(sql: Sql, id: string): Promise<boolean> {
  const [active] = await sql`select from imports where id = ${id} and state in ('queued', 'running')`
  return active !== undefined
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
