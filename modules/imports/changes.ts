import type { IdempotencyRecord } from '../../src/commit/idempotency.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { newId } from '../../src/ids.ts'
import { insertJob, type OutboxJob } from '../../src/jobs/queue.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { errorCode } from '../../src/postgres/errors.ts'
import { retryOnce, writeExactlyOnce } from '../../src/postgres/retries.ts'
import { conflict, tooManyRequests } from '../../src/responses/errors.ts'
import { insertRecord } from '../accounts/queries.ts'
import { type ImportRow, isActive, isUndoActive } from './rows.ts'

const maxActiveOfAccount = 4

export const tooManyImports = () =>
  tooManyRequests(
    `An account can have ${maxActiveOfAccount} active imports and undos of imports: wait for the end of one, or cancel an import`,
  )

type ActiveImport = Pick<ImportRow, 'id' | 'state' | 'undoState'>

export const importActive = (row: ActiveImport) =>
  conflict(`${activityOf(row)}: a project runs one import or undo of an import at a time`)

function activityOf({ id, state, undoState }: ActiveImport): string {
  if (state === 'receiving') return `The file of the import ${id} is still arriving`
  return isUndoActive({ undoState })
    ? `The undo of the import ${id} has not ended`
    : `The import ${id} has not ended`
}

export const importJob = (
  name: 'run-import' | 'undo-import',
  { id: importId, projectId }: Pick<ImportRow, 'id' | 'projectId'>,
  more: Record<string, string> = {},
): OutboxJob => ({ id: newId(), projectId, name, data: { importId, ...more } })

/** A web process records a heartbeat at this interval while it receives a file. */
export const uploadHeartbeatMs = 5_000
/** An upload without a heartbeat for this time has lost its web process. */
const deadSeconds = 20

export const recordHeartbeat = (sql: Sql, id: string) =>
  sql`update imports set started_at = now() where id = ${id} and state = 'receiving'`

/** Ends uploads whose web process was killed, so that they block no other import. A worker deletes their rows. */
const endDeadUploads = (sql: Sql, projectId: string, userId: string) => sql`
  update imports set state = 'removing'
  where state = 'receiving' and (project_id = ${projectId} or caller ->> 'userId' = ${userId})
    and coalesce(started_at, created_at) < now() - ${deadSeconds}::int4 * interval '1 second'`

/** SQL: the account has fewer active imports and undos than the limit. */
const mayBegin = (sql: Sql, userId: string) => sql`
  (select count(*) from imports where ${isActive(sql)} and caller ->> 'userId' = ${userId}) < ${maxActiveOfAccount}::int4`

/** @throws HttpError 429 if the account has too many active imports */
export async function requireFewActive(sql: Sql, userId: string): Promise<void> {
  const [row] = await retryOnce(() => sql<{ isFew: boolean }[]>`select ${mayBegin(sql, userId)} as is_few`)
  if (!row!.isFew) throw tooManyImports()
}

/** Returns false if the account has too many active imports. @throws HttpError 409 if the project has one */
export async function insertImport(sql: Sql, row: ImportRow): Promise<boolean> {
  const { id, projectId, caller, source, dryRun, createdAt } = row
  const { userId } = caller as Caller
  await retryOnce(() => endDeadUploads(sql, projectId, userId))
  const insert = () => sql`
    insert into imports (id, project_id, caller, source, dry_run, mapping, state, created_at)
    select ${id}::uuid, ${projectId}::uuid, ${JSON.stringify(caller)}::text::jsonb, ${source}, ${dryRun}::boolean, '{}', 'receiving',
      ${createdAt}::timestamptz
    where ${mayBegin(sql, userId)}
    on conflict do nothing returning id`
  if (await writeExactlyOnce(insert, () => sql`select from imports where id = ${id}`)) return true
  const active = await activeImport(sql, projectId)
  if (active) throw importActive(active)
  return false
}

export async function activeImport(sql: Sql, projectId: string): Promise<ActiveImport | undefined> {
  const [row] = await retryOnce(
    () =>
      sql<ActiveImport[]>`
        select id, state, undo_state from imports where project_id = ${projectId} and ${isActive(sql)}`,
  )
  return row
}

/** Returns false if a worker has removed the import. */
export const queueImport = (sql: Sql, row: ImportRow, job: OutboxJob, record?: IdempotencyRecord) =>
  writeExactlyOnce(
    () => sql`
      with done as (update imports set state = 'queued', started_at = null, source = ${row.source}, dry_run = ${row.dryRun},
          mapping = ${JSON.stringify(row.mapping)}::text::jsonb
        where id = ${row.id} and state = 'receiving' returning id),
      queued as (${insertJob(sql, job)}),
      recorded as (${insertRecord(sql, record)})
      select id from done`,
    () => sql`select from imports where id = ${row.id} and state not in ('receiving', 'removing')`,
  )

/** Deletes an import whose file has not arrived. If this fails, a worker deletes the import later. */
export async function discardImport(sql: Sql, id: string): Promise<void> {
  const marked = await sql`
    update imports set state = 'removing' where id = ${id} and state = 'receiving' returning id`
  if (marked.length === 0) return
  await sql`delete from import_chunks where import_id = ${id}`
  await sql`delete from imports where id = ${id}`
}

/** Returns false if the import has ended. A worker that runs the import stops after its current batch. */
export const cancelImport = (sql: Sql, id: string, record?: IdempotencyRecord) =>
  writeExactlyOnce(
    () => sql`
      with done as (update imports set state = 'cancelled', finished_at = now()
        where id = ${id} and state in ('queued', 'running') returning id),
      recorded as (${insertRecord(sql, record)})
      select id from done`,
    () => sql`select from imports where id = ${id} and state = 'cancelled'`,
  )

/** Returns false if the import cannot be undone, the project has an active import, or the caller has too many. */
export function queueUndo(sql: Sql, id: string, caller: Caller, job: OutboxJob, record?: IdempotencyRecord) {
  const queue = () =>
    sql`
      with done as (update imports i set undo_state = 'queued', caller = ${JSON.stringify(caller)}::text::jsonb
        where id = ${id} and state in ('done', 'failed', 'cancelled') and not dry_run
          and (coalesce(undo_state, 'failed') = 'failed' or (undo_state = 'done'
            and exists (select from import_lines where import_id = i.id and outcome = 'kept')))
          and not exists (select from imports where project_id = i.project_id and ${isActive(sql)})
          and ${mayBegin(sql, caller.userId)} returning id),
      queued as (${insertJob(sql, job)}),
      recorded as (${insertRecord(sql, record)})
      select id from done`.catch((error: unknown) => {
      // Another import of the project became active at the same time.
      if (errorCode(error) === '23505') return []
      throw error
    })
  return writeExactlyOnce(queue, () => sql`select from outbox where id = ${job.id}`)
}
