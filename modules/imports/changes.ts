import type { IdempotencyRecord } from '../../src/commit/idempotency.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { newId } from '../../src/ids.ts'
import { insertJob, type OutboxJob } from '../../src/jobs/queue.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { errorCode } from '../../src/postgres/errors.ts'
import { retryOnce, writeExactlyOnce } from '../../src/postgres/retries.ts'
import { conflict, type HttpError, notFound, tooManyRequests } from '../../src/responses/errors.ts'
import { insertRecord } from '../accounts/queries.ts'
import { type ImportRow, isActive, isUndoActive } from './rows.ts'

const maxActiveOfAccount = 4

export const tooManyImports = () =>
  tooManyRequests(
    `An account can have ${maxActiveOfAccount} active imports and undos of imports: wait for the end of one, or cancel an import`,
  )

type ActiveImport = Pick<ImportRow, 'id' | 'undoState'>

export const importActive = (row: ActiveImport) =>
  conflict(
    `The ${isUndoActive(row) ? 'undo of the ' : ''}import ${row.id} has not ended: a project runs one import or undo of an import at a time`,
  )

export const importJob = (
  name: 'run-import' | 'undo-import',
  { id: importId, projectId }: Pick<ImportRow, 'id' | 'projectId'>,
  more: Record<string, string> = {},
): OutboxJob => ({ id: newId(), projectId, name, data: { importId, ...more } })

/** SQL: the account has fewer active imports and undos than the limit. */
const mayBegin = (sql: Sql, userId: string) => sql`
  (select count(*) from imports where ${isActive(sql)} and caller ->> 'userId' = ${userId}) < ${maxActiveOfAccount}::int4`

/** Returns why an account cannot begin an import or an undo in a project now; undefined if it can. */
export async function reasonToWait(
  sql: Sql,
  projectId: string,
  userId: string,
): Promise<HttpError | undefined> {
  const read = () => sql<(ActiveImport & { hasProject: boolean; isFew: boolean })[]>`
    select exists (select from projects where id = ${projectId}) as has_project, ${mayBegin(sql, userId)} as is_few, i.id, i.undo_state
    from (select) q left join imports i on i.project_id = ${projectId} and ${isActive(sql)}`
  const [row] = await retryOnce(read)
  const { hasProject, isFew, id } = row!
  if (!hasProject) return notFound('Project')
  if (id !== null) return importActive(row!)
  return isFew ? undefined : tooManyImports()
}

/** Inserts an import whose file is stored. Returns false if `reasonToWait` has a reason. */
export const insertImport = (sql: Sql, row: ImportRow, job: OutboxJob, record?: IdempotencyRecord) =>
  writeExactlyOnce(
    () => sql`
      with done as (
        insert into imports (id, project_id, caller, source, dry_run, mapping, state, created_at)
        select ${row.id}::uuid, ${row.projectId}::uuid, ${JSON.stringify(row.caller)}::text::jsonb, ${row.source},
          ${row.dryRun}::boolean, ${JSON.stringify(row.mapping)}::text::jsonb, 'queued', ${row.createdAt}::timestamptz
        where ${mayBegin(sql, (row.caller as Caller).userId)} and exists (select from projects where id = ${row.projectId})
        on conflict do nothing returning id),
      queued as (${insertJob(sql, job)}),
      recorded as (${insertRecord(sql, record)})
      select id from done`,
    () => sql`select from imports where id = ${row.id}`,
  )

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

/** Returns false if the import cannot be undone, or `reasonToWait` has a reason. */
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
