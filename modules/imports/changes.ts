import { setTimeout as sleep } from 'node:timers/promises'
import type { ReadRequest } from '../../src/commands/query.ts'
import type { IdempotencyRecord } from '../../src/commit/idempotency.ts'
import { readIdempotencyKey } from '../../src/http/idempotency.ts'
import { type Caller, tokenOrUserId } from '../../src/identity/rights.ts'
import { newId } from '../../src/ids.ts'
import { insertJob, type OutboxJob } from '../../src/jobs/queue.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { errorCode, retryOnce, writeExactlyOnce } from '../../src/postgres/errors.ts'
import { conflict, type HttpError, notFound, tooManyRequests } from '../../src/responses/errors.ts'
import { type Reply, respondToWrite } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { insertRecord } from '../accounts/queries.ts'
import {
  type FindImport,
  type ImportRow,
  isActive,
  isFinal,
  isUndoActive,
  requireEditableImport,
  type RequireImport,
} from './rows.ts'
import { importView } from './schema.ts'

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
const cancelImport = (sql: Sql, id: string, record?: IdempotencyRecord) =>
  writeExactlyOnce(
    () => sql`
      with done as (update imports set state = 'cancelled', finished_at = now()
        where id = ${id} and state in ('queued', 'running') returning id),
      recorded as (${insertRecord(sql, record)})
      select id from done`,
    () => sql`select from imports where id = ${id} and state = 'cancelled'`,
  )

/** Returns false if the import cannot be undone, or `reasonToWait` has a reason. */
function queueUndo(sql: Sql, id: string, caller: Caller, job: OutboxJob, record?: IdempotencyRecord) {
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

/** Returns the idempotency record to write in the same statement; undefined without an Idempotency-Key. */
export type ToRecord = (reply: Reply) => IdempotencyRecord | undefined

export const replyWith = (body: { id?: string }, status = 200): Reply => ({
  status,
  body: JSON.stringify(body),
  etag: null,
  id: body.id,
})

/** Runs a write. A retry with the same Idempotency-Key gets the stored reply; its body is not read. */
export async function writeOnce(
  { withIdempotency }: Pick<Services, 'withIdempotency'>,
  { request, caller }: ReadRequest,
  write: (toRecord: ToRecord) => Promise<Reply>,
): Promise<Response> {
  const key = readIdempotencyKey(request, tokenOrUserId(caller), null)
  const toRecord: ToRecord = (reply) => key && { ...key, ...reply }
  const isSame = async (one: string, other: string) => one === other
  const reply = await (key ? withIdempotency(key, () => write(toRecord), isSame) : write(toRecord))
  return respondToWrite(reply, { location: (id) => `/imports/${id}` }, {})
}

export const cancelled: { message: string; id?: string } = { message: 'Import cancelled successfully' }
export const importEnded = () => conflict('The import has already ended')

export const notEnded = () => conflict('The import has not ended: cancel it first')
export const wasDryRun = () => conflict('The import was a dry run: it changed nothing')
export const alreadyUndone = () => conflict('The import is already undone')

const maxWaitMs = 10_000
const pollMs = 200

/** Returns the handlers that cancel and undo imports. The response to an undo waits up to 10 s for its end. */
export function openChanges(services: Services, requireImport: RequireImport, findImport: FindImport) {
  const { database, jobs, subscriptions } = services
  const sql = database.background

  async function cancel(context: ReadRequest): Promise<Response> {
    const { id } = await requireEditableImport(requireImport, context)
    return writeOnce(services, context, async (toRecord) => {
      const reply = replyWith(cancelled)
      if (!(await cancelImport(sql, id, toRecord(reply)))) throw importEnded()
      return reply
    })
  }

  async function undo(context: ReadRequest): Promise<Response> {
    const row = await requireEditableImport(requireImport, context)
    const { caller, request, permit } = context
    return writeOnce(services, context, async (toRecord) => {
      if (!isFinal(row)) throw notEnded()
      if (row.dryRun) throw wasDryRun()
      const job = importJob('undo-import', row, { caller: JSON.stringify(caller) })
      const reply = replyWith(importView.of({ ...row, undoState: 'queued' }), 202)
      if (!(await queueUndo(sql, row.id, caller, job, toRecord(reply))))
        throw (await reasonToWait(sql, row.projectId, caller.userId)) ?? alreadyUndone()
      void jobs.enqueue([job])
      permit.release()
      const endsAt = performance.now() + maxWaitMs
      while (!request.signal.aborted && !subscriptions.hasEnded() && performance.now() < endsAt) {
        const now = await findImport(row.id)
        if (!now || !isUndoActive(now)) return now ? replyWith(importView.of(now)) : reply
        await sleep(pollMs)
      }
      return reply
    })
  }

  return { cancel, undo }
}
