import { openConcurrencyLimit } from '../../../src/admission/fair-queue.ts'
import type { ReadRequest } from '../../../src/commands/query.ts'
import { requireSmall } from '../../../src/http/json-body.ts'
import { newId, nowMs } from '../../../src/ids.ts'
import { HttpError } from '../../../src/responses/errors.ts'
import type { Reply } from '../../../src/responses/reply.ts'
import type { Services } from '../../../src/services.ts'
import { queueImport, reasonToWait, type ToRecord, writeOnce } from '../changes.ts'
import { requireEditableProject } from '../rows.ts'
import { formBytes } from '../schema.ts'
import { insertChunk, partsOf, storeChunks } from './file.ts'
import { type Fields, isForm, readForm, readOptions } from './form.ts'

/** Limits the uploads in progress in this process. An upload needs a few MiB of memory. */
export const uploadLimit = { what: 'import uploads', ofAll: 32, ofAccount: 4 }

export const codingNotSupported = () =>
  new HttpError(415, 'The file must be sent without a Content-Encoding, or with gzip', {
    'accept-encoding': 'gzip',
  })

/** Returns the handler of an upload. It checks rights, limits and parameters before it stores the first byte. */
export function openStartImport(services: Services) {
  const uploads = openConcurrencyLimit(uploadLimit)
  const { findRole, config } = services
  return async (context: ReadRequest): Promise<Response> => {
    const { request, caller, permit, query } = context
    const projectId = await requireEditableProject(findRole, context)
    const isInForm = isForm(request)
    // The parts of a form may contain the options.
    if (!isInForm) readOptions({ ...query })
    const coding = request.headers.get('content-encoding') ?? 'identity'
    if (!(isInForm ? /^identity$/i : /^(identity|(x-)?gzip)$/i).test(coding)) throw codingNotSupported()
    requireSmall(request, config.importBytes + (isInForm ? formBytes : 0))
    return writeOnce(services, context, (toRecord) => {
      permit.release()
      const release = uploads.acquire(caller.userId)
      return start(services, context, projectId, toRecord).finally(release)
    })
  }
}

/** Stores the file, and then the import: a file without an import is deleted by a worker. */
async function start(
  services: Services,
  context: ReadRequest,
  projectId: string,
  toRecord: ToRecord,
): Promise<Reply> {
  const { config, database, limits } = services
  const { caller, query, request } = context
  const sql = database.background
  const fields: Fields = { ...query }
  const begun = { id: newId(), createdAt: new Date(nowMs()).toISOString() }
  const requireFree = async () => {
    const reason = await reasonToWait(sql, projectId, caller.userId)
    if (reason) throw reason
  }
  const insert = async (n: number, bytes: Buffer) => {
    await limits.budgets?.writes.takeMore(caller, 1)
    await insertChunk(sql, begun.id, n, bytes)
  }
  const store = (file: AsyncIterable<Uint8Array>) => storeChunks(file, config.importBytes, insert)
  await requireFree()
  const parts = partsOf(request, config.bodyTimeoutMs)
  try {
    await (isForm(request) ? readForm(request.headers, parts, fields, store) : store(parts))
    const row = { ...queued, ...begun, projectId, caller, ...readOptions(fields) }
    for (;;) {
      const reply = await queueImport(services, row, toRecord)
      if (reply) return reply
      await requireFree()
    }
  } catch (error) {
    // After another error, the import may be stored.
    if (error instanceof HttpError)
      await sql`delete from import_chunks where import_id = ${begun.id}`.catch(() => {})
    throw error
  }
}

const queued = {
  state: 'queued' as const,
  ...{ cursor: null, progress: 0, error: null, startedAt: null, finishedAt: null },
  ...{ read: 0, created: 0, updated: 0, unchanged: 0, rejected: 0, undoState: null, undone: 0, kept: 0 },
}
