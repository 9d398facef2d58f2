import type { ImportCursor, ImportStep } from '../../drizzle/schema/imports.ts'
import { ImportError } from '../../modules/imports/items.ts'
import type { Mapping } from '../../modules/imports/mapping.ts'
import type { Source } from '../../modules/imports/sources.ts'
import type { Caller } from '../../src/identity/rights.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Services } from '../../src/services.ts'
import type { Throttle } from '../throttle.ts'

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

/** The state that the steps of an import share. */
export interface Run {
  services: Services
  sql: Sql
  running: RunningImport
  throttle: Throttle
  /** The maximum number of rows that one command imports. */
  batchRows: number
}

/** The import was cancelled, or another worker has continued it. */
export class ImportTaken extends Error {}

/** The steps in their order, with the share of the work that each step has. */
const weights: Record<ImportStep, number> = {
  ...{ read: 0.25, names: 0.01, tasks: 0.39, leaves: 0.05, children: 0.25, links: 0.05, end: 0 },
}
const stepOrder = Object.keys(weights) as ImportStep[]
const stepAfter = (step: ImportStep): ImportStep => stepOrder[stepOrder.indexOf(step) + 1]!

/**
 * Continues or starts the import. Returns undefined if it has ended, and `waits` while an older import of the account
 * runs, so that one account cannot occupy a worker.
 */
export async function beginImport(sql: Sql, id: string): Promise<RunningImport | 'waits' | undefined> {
  // The previous release has other steps after `read`: its imports are read again, and their counts start again.
  await sql`
    update imports set cursor = null, created = 0, updated = 0, unchanged = 0, rejected = 0
    where id = ${id} and state = 'running' and not cursor ->> 'step' = any(${stepOrder}::text[])`
  const [begun] = await sql<RunningImport[]>`
    update imports set state = 'running', started_at = coalesce(started_at, now()),
      cursor = coalesce(cursor, '{"step": "read", "n": 0}')
    where id = ${id} and state in ('queued', 'running') and not exists (
      select from imports o where o.state = 'running' and o.id < imports.id
        and o.caller ->> 'userId' = imports.caller ->> 'userId')
    returning id, project_id, caller, source, dry_run, mapping, cursor`
  return begun ?? ((await isActive(sql, id)) ? 'waits' : undefined)
}

/** False if the import has ended or was cancelled. */
export async function isActive(sql: Sql, id: string): Promise<boolean> {
  const [active] = await sql`select from imports where id = ${id} and state in ('queued', 'running')`
  return active !== undefined
}

/** SQL for a condition on `imports`: the row of this import, and no other worker has moved its cursor. */
export const isUnmoved = (sql: Sql, { id, cursor }: Pick<RunningImport, 'id' | 'cursor'>) =>
  sql`id = ${id} and cursor = ${JSON.stringify(cursor)}::text::jsonb`

/** @param error why the import failed; null if it is done */
export const finishImport = (sql: Sql, id: string, error: string | null) => sql`
  update imports set state = ${error === null ? 'done' : 'failed'}, error = ${error}, finished_at = now(),
    progress = case when ${error === null} then 1 else progress end
  where id = ${id} and state in ('queued', 'running')`

/** @throws ImportError if the API token that began the work was deleted or has expired */
export async function requireToken(sql: Sql, { token }: Caller): Promise<void> {
  if (!token) return
  const [row] = await sql`select id from api_tokens where id = ${token.id} and expires_at > now()`
  if (!row) throw new ImportError('The API token of the request was deleted, or has expired')
}

/** @param part the part of the step that is done, from 0 to 1 */
export function progressAt(step: ImportStep, part: number): number {
  const before = stepOrder.slice(0, stepOrder.indexOf(step)).reduce((sum, one) => sum + weights[one], 0)
  return before + weights[step] * Math.min(part, 1)
}

/**
 * Moves the cursor, and commits `work` in the same transaction. The commit is durable: after a crash of Postgres, the
 * undo of a cancelled import still needs the numbers of the batches.
 * @param part the part of the cursor's step that is done
 * @throws ImportTaken if another worker has moved the cursor, or the import was cancelled
 */
export async function moveCursor(
  { sql, running }: Run,
  cursor: ImportCursor & { step: ImportStep },
  part: number,
  work?: (tx: Sql) => Promise<unknown>,
): Promise<void> {
  const [moved] = await sql.begin(async (tx) => {
    // The statements of the transaction are sent together.
    const [moved] = await Promise.all([
      tx<{ state: string }[]>`
        update imports set cursor = ${JSON.stringify(cursor)}::text::jsonb, progress = ${progressAt(cursor.step, part)}
        where ${isUnmoved(sql, running)} returning state`,
      work?.(tx as unknown as Sql),
    ])
    if (moved.length === 0) throw new ImportTaken()
    return moved
  })
  running.cursor = cursor
  if (moved!.state !== 'running') throw new ImportTaken()
}

export const endStep = (run: Run, step: ImportStep, work?: (tx: Sql) => Promise<unknown>): Promise<void> =>
  moveCursor(run, { step: stepAfter(step), n: 0 }, 0, work)
