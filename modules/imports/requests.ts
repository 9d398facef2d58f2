import { setTimeout as sleep } from 'node:timers/promises'
import type { ReadRequest } from '../../src/commands/query.ts'
import type { IdempotencyRecord } from '../../src/commit/idempotency.ts'
import { readIdempotencyKey } from '../../src/http/idempotency.ts'
import { holderOf } from '../../src/identity/rights.ts'
import { conflict } from '../../src/responses/errors.ts'
import { type Reply, respondToWrite } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { cancelImport, importJob, queueUndo, reasonToWait } from './changes.ts'
import {
  type FindImport,
  type ImportRow,
  isFinal,
  isUndoActive,
  requireEditableImport,
  type RequireImport,
} from './rows.ts'
import { importView } from './schema.ts'

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
  const key = readIdempotencyKey(request, holderOf(caller), null)
  const toRecord: ToRecord = (reply) => key && { ...key, ...reply }
  const isSame = async (one: string, other: string) => one === other
  const reply = await (key ? withIdempotency(key, () => write(toRecord), isSame) : write(toRecord))
  return respondToWrite(reply, { location: (id) => `/imports/${id}` }, {})
}

export const cancelled: { message: string; id?: string } = { message: 'Import cancelled successfully' }
export const importEnded = () => conflict('The import has already ended')

export function openCancelImport(services: Services, requireImport: RequireImport) {
  const { database } = services
  return async (context: ReadRequest): Promise<Response> => {
    const { id } = await requireEditableImport(requireImport, context)
    return writeOnce(services, context, async (toRecord) => {
      const reply = replyWith(cancelled)
      if (!(await cancelImport(database.background, id, toRecord(reply)))) throw importEnded()
      return reply
    })
  }
}

const maxWaitMs = 10_000
const pollMs = 200

export const notEnded = () => conflict('The import has not ended: cancel it first')
export const wasDryRun = () => conflict('The import was a dry run: it changed nothing')
export const alreadyUndone = () => conflict('The import is already undone')

interface Dependencies {
  services: Services
  requireImport: RequireImport
  findImport: FindImport
}

/** Returns the handler that queues the undo. The response waits up to 10 s for its end. */
export function openUndoImport(dependencies: Dependencies) {
  const { services, requireImport } = dependencies
  const { database, jobs } = services
  const sql = database.background
  return async (context: ReadRequest): Promise<Response> => {
    const row = await requireEditableImport(requireImport, context)
    const { caller } = context
    return writeOnce(services, context, async (toRecord) => {
      requireUndoable(row)
      const job = importJob('undo-import', row, { caller: JSON.stringify(caller) })
      const reply = replyWith(importView.of({ ...row, undoState: 'queued' }), 202)
      if (!(await queueUndo(sql, row.id, caller, job, toRecord(reply))))
        throw (await reasonToWait(sql, row.projectId, caller.userId)) ?? alreadyUndone()
      void jobs.enqueue([job])
      context.permit.release()
      const ended = await undoneImport(dependencies, row, context.request.signal)
      return ended ? replyWith(importView.of(ended)) : reply
    })
  }
}

function requireUndoable(row: ImportRow): void {
  if (!isFinal(row)) throw notEnded()
  if (row.dryRun) throw wasDryRun()
}

/** Waits for the end of the undo. Returns undefined if it takes longer. */
async function undoneImport(
  { services: { subscriptions }, findImport }: Dependencies,
  { id }: ImportRow,
  signal: AbortSignal,
): Promise<ImportRow | undefined> {
  const endsAt = performance.now() + maxWaitMs
  while (!signal.aborted && !subscriptions.hasEnded() && performance.now() < endsAt) {
    const row = await findImport(id)
    if (!row || !isUndoActive(row)) return row
    await sleep(pollMs)
  }
  return undefined
}
