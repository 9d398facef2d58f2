import { setTimeout as sleep } from 'node:timers/promises'
import { imports } from '../../drizzle/schema/imports.ts'
import type { ToRecord } from '../../src/commands/command.ts'
import type { ReadRequest } from '../../src/commands/query.ts'
import type { IdempotencyRecord } from '../../src/commit/idempotency.ts'
import { readIdempotencyKey } from '../../src/http/idempotency.ts'
import { isId } from '../../src/id-format.ts'
import { type Caller, requireRole, requireScope, tokenOrUserId } from '../../src/identity/rights.ts'
import { newId } from '../../src/ids.ts'
import type { OutboxJob } from '../../src/jobs/queue.ts'
import { columnList } from '../../src/postgres/columns.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { errorCode, retryOnce } from '../../src/postgres/errors.ts'
import type { VisibleProject } from '../../src/reads/lookups.ts'
import { conflict, notFound, tooManyRequests } from '../../src/responses/errors.ts'
import { type Reply, respondToWrite } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { writeOnce as writeStatementOnce } from '../accounts/queries.ts'
import { type ImportRow, importView } from './schema.ts'

const isUndoActive = ({ undoState }: Pick<ImportRow, 'undoState'>): boolean =>
  undoState === 'queued' || undoState === 'running'

/** SQL for the condition of the index `imports_active`. */
const isActive = (sql: Sql) =>
  sql`(state in ('receiving', 'queued', 'running') or undo_state in ('queued', 'running'))`

export const noImport = () => notFound('Import')

/** SQL for imports. Responses hide an import while a worker removes it. */
export const importsWhere = (sql: Sql, condition: SqlPart) => sql`
  select ${columnList(sql, imports, 'imports')} from imports where state <> 'removing' and ${condition}`

async function findImport({ database: { reads: sql } }: Services, id = ''): Promise<ImportRow | undefined> {
  return isId(id) ? (await sql<ImportRow[]>`${importsWhere(sql, sql`id = ${id}`)}`)[0] : undefined
}

/** @throws HttpError 404 unless the caller may see the project of the import */
export async function requireImport(services: Services, { caller, params }: ReadRequest) {
  const row = await findImport(services, params.id)
  const project = row && (await services.findRole(caller, row.projectId))
  if (!project) throw noImport()
  return { row, project }
}

/** @throws HttpError 404, and 403 without the right to change the import */
async function requireChange(services: Services, context: ReadRequest): Promise<ImportRow> {
  const { row, project } = await requireImport(services, context)
  requireEditor(context, project, 'Import')
  return row
}

/** @throws HttpError 403 */
export function requireEditor({ caller }: ReadRequest, { role }: VisibleProject, noun: string): void {
  requireRole(role, 'EDITOR', noun)
  requireScope(caller, 'write')
}

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

const importJob = (
  name: 'run-import' | 'undo-import',
  { id: importId, projectId }: Pick<ImportRow, 'id' | 'projectId'>,
  more: Record<string, string> = {},
): OutboxJob => ({ id: newId(), projectId, name, data: { importId, ...more } })

/** SQL: the account has fewer active imports and undos than the limit. */
const mayBegin = (sql: Sql, userId: string) => sql`
  (select count(*) from imports where ${isActive(sql)} and caller ->> 'userId' = ${userId}) < ${maxActiveOfAccount}::int4`

/** @throws HttpError 404, 409 or 429 if an account cannot begin an import or an undo in a project now */
export async function requireFree(sql: Sql, projectId: string, userId: string): Promise<void> {
  const read = () => sql<(ActiveImport & { hasProject: boolean; isFew: boolean })[]>`
    select exists (select from projects where id = ${projectId}) as has_project, ${mayBegin(sql, userId)} as is_few, i.id, i.undo_state
    from (select) q left join imports i on i.project_id = ${projectId} and ${isActive(sql)}`
  const [row] = await retryOnce(read)
  const { hasProject, isFew, id } = row!
  if (!hasProject) throw notFound('Project')
  if (id !== null) throw importActive(row!)
  if (!isFew) throw tooManyImports()
}

/**
 * Changes an import, and inserts its job and the reply. Returns false if nothing was changed.
 * @param change SQL that returns the id of the changed import, or no row
 * @param written SQL that returns a row if the change is committed
 */
async function changeOnce(
  { database: { background: sql }, jobs }: Services,
  change: SqlPart,
  written: SqlPart,
  { job, record }: { job?: OutboxJob; record?: IdempotencyRecord | undefined },
): Promise<boolean> {
  const write = writeStatementOnce(sql, sql`done as (${change})`, written, { job, record })
  const isChanged = await write.catch((error: unknown) => {
    // Another import of the project became active at the same time.
    if (errorCode(error) === '23505') return false
    throw error
  })
  if (isChanged && job) void jobs.enqueue([job])
  return isChanged
}

const jsonb = (sql: Sql, value: object) => sql`${JSON.stringify(value)}::text::jsonb`

/** Inserts an import whose file is stored, and its job. @throws HttpError if the account cannot begin it now */
export async function queueImport(
  services: Services,
  row: ImportRow,
  toRecord: ToRecord<Reply>,
): Promise<Reply> {
  const { id, projectId, caller, source, dryRun, mapping, createdAt } = row
  const { userId } = caller as Caller
  const sql = services.database.background
  const reply = replyWith(importView.of(row), 202)
  const change = sql`
    insert into imports (id, project_id, caller, source, dry_run, mapping, state, created_at)
    select ${id}::uuid, ${projectId}::uuid, ${jsonb(sql, caller)}, ${source}, ${dryRun}::boolean, ${jsonb(sql, mapping)}, 'queued',
      ${createdAt}::timestamptz
    where ${mayBegin(sql, userId)} and exists (select from projects where id = ${projectId})
    on conflict do nothing returning id`
  const written = sql`select from imports where id = ${id}`
  const added = { job: importJob('run-import', row), record: toRecord(reply) }
  // Repeats the insertion if the other import has ended between the insertion and the check.
  while (!(await changeOnce(services, change, written, added))) await requireFree(sql, projectId, userId)
  return reply
}

const replyWith = (body: { id?: string }, status = 200): Reply => ({
  status,
  body: JSON.stringify(body),
  etag: null,
  id: body.id,
})

/** Runs a write. A retry with the same Idempotency-Key gets the stored reply; its body is not read. */
export async function writeOnce(
  { withIdempotency }: Pick<Services, 'withIdempotency'>,
  { request, caller }: ReadRequest,
  write: (toRecord: ToRecord<Reply>) => Promise<Reply>,
): Promise<Response> {
  const key = readIdempotencyKey(request, tokenOrUserId(caller), null)
  const toRecord: ToRecord<Reply> = (reply) => key && { ...key, ...reply! }
  const isSame = async (one: string, other: string) => one === other
  const reply = await (key ? withIdempotency(key, () => write(toRecord), isSame) : write(toRecord))
  return respondToWrite(reply, { location: (id) => `/imports/${id}` }, {})
}

export const cancelled: { message: string; id?: string } = { message: 'Import cancelled successfully' }
export const importEnded = () => conflict('The import has already ended')
export const undoErrors = {
  notEnded: () => conflict('The import has not ended: cancel it first'),
  wasDryRun: () => conflict('The import was a dry run: it changed nothing'),
  alreadyUndone: () => conflict('The import is already undone'),
}

/** Returns the handler that cancels an import. A worker that runs the import stops after its current batch. */
export const openCancelImport = (services: Services) => async (context: ReadRequest) => {
  const { id } = await requireChange(services, context)
  return writeOnce(services, context, async (toRecord) => {
    const sql = services.database.background
    const reply = replyWith(cancelled)
    const change = sql`
      update imports set state = 'cancelled', finished_at = now() where id = ${id} and state in ('queued', 'running') returning id`
    const written = sql`select from imports where id = ${id} and state = 'cancelled'`
    if (!(await changeOnce(services, change, written, { record: toRecord(reply) }))) throw importEnded()
    return reply
  })
}

/** Returns the handler that undoes an import. Its response waits up to 10 s for the end of the undo. */
export const openUndoImport = (services: Services) => async (context: ReadRequest) => {
  const { caller, permit, request } = context
  const row = await requireChange(services, context)
  return writeOnce(services, context, async (toRecord) => {
    if (row.state === 'queued' || row.state === 'running') throw undoErrors.notEnded()
    if (row.dryRun) throw undoErrors.wasDryRun()
    const sql = services.database.background
    const job = importJob('undo-import', row, { caller: JSON.stringify(caller) })
    const reply = replyWith(importView.of({ ...row, undoState: 'queued' }), 202)
    const change = sql`
      update imports i set undo_state = 'queued', caller = ${jsonb(sql, caller)}
      where id = ${row.id} and state in ('done', 'failed', 'cancelled') and not dry_run
        and (coalesce(undo_state, 'failed') = 'failed' or (undo_state = 'done'
          and exists (select from import_lines where import_id = i.id and outcome = 'kept')))
        and not exists (select from imports where project_id = i.project_id and ${isActive(sql)})
        and ${mayBegin(sql, caller.userId)} returning id`
    const written = sql`select from outbox where id = ${job.id}`
    if (!(await changeOnce(services, change, written, { job, record: toRecord(reply) }))) {
      await requireFree(sql, row.projectId, caller.userId)
      throw undoErrors.alreadyUndone()
    }
    permit.release()
    return (await untilUndone(services, row.id, request)) ?? reply
  })
}

const maxWaitMs = 10_000
const pollMs = 200

/** Returns undefined if the undo does not end in time. */
async function untilUndone(services: Services, id: string, { signal }: Request): Promise<Reply | undefined> {
  const endsAt = performance.now() + maxWaitMs
  while (!signal.aborted && !services.subscriptions.hasEnded() && performance.now() < endsAt) {
    const now = await findImport(services, id)
    if (!now || !isUndoActive(now)) return now && replyWith(importView.of(now))
    await sleep(pollMs)
  }
  return undefined
}
