import { openConcurrencyLimit } from '../../../src/admission/concurrency-limit.ts'
import type { ReadRequest } from '../../../src/commands/query.ts'
import { requireSmall } from '../../../src/http/json-body.ts'
import type { Caller } from '../../../src/identity/rights.ts'
import { newId, nowMs } from '../../../src/ids.ts'
import { HttpError } from '../../../src/responses/errors.ts'
import type { Services } from '../../../src/services.ts'
import { repeatedly } from '../../../src/repeatedly.ts'
import {
  discardImport,
  importJob,
  insertImport,
  queueImport,
  recordHeartbeat,
  tooManyImports,
  uploadHeartbeatMs,
} from '../changes.ts'
import { replyWith, type ToRecord, writeOnce } from '../requests.ts'
import { type ImportRow, requireEditableProject } from '../rows.ts'
import { formBytes, importView } from '../schema.ts'
import { ChunkWriter, freeMemory, insertChunk, partsOf, removalError, UploadRemoved } from './file.ts'
import { type Fields, type ImportOptions, isForm, readForm, readOptions } from './form.ts'

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
    const { projectId } = await requireEditableProject(findRole, context)
    const fields: Fields = { ...query }
    const isInForm = isForm(request)
    const options = isInForm ? undefined : readOptions(fields)
    requireSupportedCoding(request, isInForm)
    requireSmall(request, config.importBytes + (isInForm ? formBytes : 0))
    return writeOnce(services, context, async (toRecord) => {
      permit.release()
      const release = uploads.acquire(caller.userId)
      const upload = { context, projectId, fields, options }
      return start(services, upload, toRecord).finally(release)
    })
  }
}

interface Upload {
  context: ReadRequest
  projectId: string
  fields: Fields
  /** Undefined for a form: its parts may contain the options. */
  options: ImportOptions | undefined
}

async function start(
  services: Services,
  { context, projectId, fields, options }: Upload,
  toRecord: ToRecord,
) {
  const { database, jobs } = services
  const sql = database.background
  const received = newImport(projectId, context.caller, options)
  if (!(await insertImport(sql, received))) throw tooManyImports()
  const stop = repeatedly(() => recordHeartbeat(sql, received.id), uploadHeartbeatMs, services.log)
  try {
    await receive(services, context, received.id, fields)
    const row: ImportRow = { ...received, ...(options ?? readOptions(fields)), state: 'queued' }
    const reply = replyWith(importView.of(row), 202)
    const job = importJob('run-import', row)
    if (!(await queueImport(sql, row, job, toRecord(reply)))) throw new UploadRemoved()
    void jobs.enqueue([job])
    return reply
  } catch (error) {
    await discardImport(sql, received.id).catch(() => {})
    throw error instanceof UploadRemoved ? await removalError(sql, received) : error
  } finally {
    void stop()
  }
}

async function receive(
  { config, database, limits }: Services,
  { request, caller }: ReadRequest,
  importId: string,
  fields: Fields,
): Promise<void> {
  const writer = new ChunkWriter(config.importBytes, async (n, bytes) => {
    await limits.budgets?.writes.takeMore(caller, 1)
    await insertChunk(database.background, importId, n, bytes)
  })
  const parts = partsOf(request, config.bodyTimeoutMs)
  const write = (bytes: Uint8Array) => writer.write(bytes)
  if (isForm(request)) await readForm(request.headers, parts, fields, formBytes, write)
  else
    for await (const part of parts) {
      await write(part)
      freeMemory(part)
    }
  await writer.end()
}

function requireSupportedCoding({ headers }: Request, isInForm: boolean): void {
  const coding = headers.get('content-encoding') ?? 'identity'
  if (!(isInForm ? /^identity$/i : /^(identity|(x-)?gzip)$/i).test(coding)) throw codingNotSupported()
}

const newImport = (projectId: string, caller: Caller, options?: ImportOptions): ImportRow => ({
  ...{ id: newId(), projectId, caller, state: 'receiving', createdAt: new Date(nowMs()).toISOString() },
  ...(options ?? { source: '', dryRun: false, mapping: {} }),
  ...{ cursor: null, progress: 0, read: 0, created: 0, updated: 0, unchanged: 0, rejected: 0, error: null },
  ...{ undoState: null, undone: 0, kept: 0, startedAt: null, finishedAt: null },
})
