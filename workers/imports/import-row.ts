import type { ImportCursor } from '../../drizzle/schema/imports.ts'
import { ImportError } from '../../modules/imports/items.ts'
import type { Mapping } from '../../modules/imports/mapping.ts'
import type { Source } from '../../modules/imports/sources.ts'
import type { Caller } from '../../src/identity/rights.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { isStatementTimeout, toHttpError } from '../../src/postgres/errors.ts'
import type { Services } from '../../src/services.ts'
import { reasonOf, SliceEnded, type Throttle } from '../throttle.ts'

/** A running import, and what its steps share. Each step changes `cursor`, and the step `read` also `mapping`. */
export interface Run {
  readonly id: string
  readonly projectId: string
  readonly caller: Caller
  readonly source: Source
  readonly dryRun: boolean
  mapping: Mapping
  cursor: ImportCursor
  services: Services
  sql: Sql
  throttle: Throttle
  /** The maximum number of rows that one command imports. */
  batchRows: number
}

/** Statements of the transaction that moves the cursor. */
export type Work = (tx: Sql) => Promise<unknown>

/** The import was cancelled, or another worker has continued it. */
export class ImportTaken extends Error {}

/** The time after which an import that waits for another one is started again. */
const waitMs = 1_000

/**
 * Continues or starts the import. Returns undefined if it has ended.
 * @throws SliceEnded while an older import of the account runs, so that one account cannot occupy a worker
 */
export async function beginImport(sql: Sql, id: string) {
  const [begun] = await sql<Omit<Run, 'services' | 'sql' | 'throttle' | 'batchRows'>[]>`
    update imports set state = 'running', started_at = coalesce(started_at, now()),
      cursor = coalesce(cursor, '{"step": "read", "n": 0}')
    where id = ${id} and state in ('queued', 'running') and not exists (
      select from imports o where o.state = 'running' and o.id < imports.id
        and o.caller ->> 'userId' = imports.caller ->> 'userId')
    returning id, project_id, caller, source, dry_run, mapping, cursor`
  if (!begun && (await isActive(sql, id))) throw new SliceEnded(waitMs)
  return begun
}

/** False if the import has ended or was cancelled. */
export async function isActive(sql: Sql, id: string): Promise<boolean> {
  const [active] = await sql`select from imports where id = ${id} and state in ('queued', 'running')`
  return active !== undefined
}

/** SQL for a condition on `imports`: the row of this import, and no other worker has moved its cursor. */
export const isUnmoved = ({ sql, id, cursor }: Run) =>
  sql`id = ${id} and cursor = ${JSON.stringify(cursor)}::text::jsonb`

/** @throws ImportError if the API token that began the work was deleted or has expired */
export async function requireToken(sql: Sql, { token }: Caller): Promise<void> {
  if (!token) return
  const [row] = await sql`select id from api_tokens where id = ${token.id} and expires_at > now()`
  if (!row) throw new ImportError('The API token of the request was deleted, or has expired')
}

/**
 * Moves the cursor, and commits `work` in the same transaction. The commit is durable: after a crash of Postgres, the
 * undo of a cancelled import still needs the numbers of the batches.
 * @throws ImportTaken if another worker has moved the cursor, or the import was cancelled
 */
export async function moveCursor(run: Run, cursor: ImportCursor, work?: Work | void): Promise<void> {
  const state = await run.sql.begin(async (tx) => {
    // Locks the row first, so that a second worker that runs the same batch stores no line twice.
    const [moved] = await tx<{ state: string }[]>`
      update imports set cursor = ${JSON.stringify(cursor)}::text::jsonb where ${isUnmoved(run)} returning state`
    if (!moved) throw new ImportTaken()
    await work?.(tx as unknown as Sql)
    return moved.state
  })
  run.cursor = cursor
  // The step `read` begins again after each error.
  if (cursor.step !== 'read') noteProgress(run.id)
  if (state !== 'running') throw new ImportTaken()
}

const retryMs = 1_000
/** Each of the first errors without progress makes the pause a second longer. */
const maxPauses = 10
/** An import without progress fails after this number of temporary errors, which takes at least 15 minutes. */
export const maxErrors = 100
/** The numbers of temporary errors since the last progress, by import. */
const errors = new Map<string, number>()

export const noteProgress = (importId: string) => errors.delete(importId)

/**
 * True if a repeated slice may succeed. A statement timeout fails the attempt, because the statement would probably take
 * too long again.
 */
const isTemporary = (error: unknown): boolean =>
  [429, 503].includes(toHttpError(error)?.status ?? 0) && !isStatementTimeout(error)

/** Returns why an import or its undo has failed. @throws every other error, so that the job is retried */
export function failureOf(importId: string, error: unknown): string {
  if (error instanceof ImportError) return error.message
  const http = toHttpError(error)
  if (http?.status === 404) return 'The project was deleted, or the account is no longer its member'
  if (http && [400, 403, 409, 413, 422].includes(http.status)) return http.message
  if (!http || !isTemporary(error)) throw error
  const count = (errors.get(importId) ?? 0) + 1
  errors.set(importId, count)
  if (count < maxErrors) throw error
  return `Each of ${maxErrors} attempts failed: ${http.message}`
}

/** Runs a slice of a job. After a temporary error, the next slice continues. */
export async function runSlice(importId: string, slice: () => Promise<void>): Promise<void> {
  try {
    await slice()
    noteProgress(importId)
  } catch (error) {
    if (error instanceof ImportTaken) throw new SliceEnded()
    if (!isTemporary(error)) throw error
    const pauses = Math.min(errors.get(importId) ?? 1, maxPauses)
    throw new SliceEnded(pauses * retryMs, reasonOf(error))
  }
}
