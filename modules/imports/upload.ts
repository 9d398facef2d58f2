import { pipeline } from 'node:stream/promises'
import Busboy, { type BusboyFileStream, type BusboyInstance } from '@fastify/busboy'
import { Type } from '@sinclair/typebox'
import { openConcurrencyLimit } from '../../src/admission/fair-queue.ts'
import type { ToRecord } from '../../src/commands/command.ts'
import type { ReadRequest } from '../../src/commands/query.ts'
import type { Config } from '../../src/config.ts'
import { requireSmall, tooLarge } from '../../src/http/json-body.ts'
import { newId, nowMs } from '../../src/ids.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { errorCode, retryOnce } from '../../src/postgres/errors.ts'
import { requireVisible } from '../../src/reads/lookups.ts'
import { badRequest, duplicateParameter, HttpError } from '../../src/responses/errors.ts'
import type { Reply } from '../../src/responses/reply.ts'
import { openCheck } from '../../src/schema/validation.ts'
import type { Services } from '../../src/services.ts'
import { within } from '../../src/waits.ts'
import { queueImport, requireEditor, requireFree, writeOnce } from './changes.ts'
import { storableValue } from './convert/texts.ts'
import type { Mapping } from './mapping.ts'
import { parseObject } from './readers/json-file.ts'
import { columnsError } from './readers/csv/columns.ts'
import { formBytes, ImportMapping, ImportParameters } from './schema.ts'
import type { Source } from './sources.ts'

/** A file must arrive within this time. */
const receivingMinutes = 10
/** Limits the uploads in progress in this process. An upload needs a few MiB of memory. */
export const uploadLimit = { what: 'import uploads', ofAll: 32, ofAccount: 4 }

const slow = (message: string) => new HttpError(408, message, { connection: 'close' })
const stalled = (timeoutMs: number) => slow(`No part of the body arrived for ${timeoutMs} ms`)
const errors = {
  noSource: () => badRequest('source is required: the system that wrote the file, such as csv'),
  mappingNotJson: () => badRequest('mapping must be a JSON object'),
  mappingTooLong: () => badRequest(`mapping must have at most ${formBytes} bytes`),
  notForm: () => badRequest('The body must be valid multipart/form-data, with the file and its parameters'),
  noFile: () => badRequest('file is required: the part of the form that contains the file'),
  emptyFile: () => badRequest('The file is empty'),
  zipArchive: () => badRequest('The file is a ZIP archive: unpack it, and send the file in it'),
  endedEarly: () => badRequest('The body ended before its last byte arrived'),
  tooLate: () => slow(`The file must arrive within ${receivingMinutes} minutes`),
  badCoding: () =>
    new HttpError(415, 'The file must be sent without a Content-Encoding, or with gzip', {
      'accept-encoding': 'gzip',
    }),
}

export const uploadErrors = ({ bodyTimeoutMs, importBytes }: Config): HttpError[] => [
  stalled(bodyTimeoutMs),
  ...Object.values(errors).map((error) => error()),
  tooLarge(importBytes),
]

/** The parameters of an import as texts, from the query or from a form. */
type Fields = Record<string, string | undefined>

const checkParameters = openCheck(ImportParameters)
const checkMapping = openCheck(Type.Object({ mapping: ImportMapping }))

/** @throws HttpError 400 */
function readOptions({ mapping = '{}', ...fields }: Fields) {
  if (fields.source === undefined) throw errors.noSource()
  checkParameters(fields)
  const source = fields.source as Source
  return { source, dryRun: fields.dryRun === 'true', mapping: readMapping(mapping) }
}

function readMapping(text: string): Mapping {
  const mapping: Mapping | undefined = parseObject(text)
  if (!mapping) throw errors.mappingNotJson()
  checkMapping({ mapping })
  if (JSON.stringify(storableValue(mapping)) !== JSON.stringify(mapping))
    throw badRequest('mapping must be text without U+0000 and lone surrogates')
  const problem = columnsError(mapping.columns)
  if (problem) throw badRequest(problem)
  return mapping
}

const isForm = ({ headers }: Request): boolean =>
  /^multipart\/form-data\s*(;|$)/i.test(headers.get('content-type') ?? '')

/** The maximum number of parts: the file, and each parameter once. */
const limits = { files: 1, fields: 3, parts: 4, headerPairs: 20, fieldSize: formBytes }

/**
 * Reads a form with backpressure: stores its file, and adds its other parts to `fields`.
 * @throws HttpError 400
 */
async function readForm(
  headers: Headers,
  parts: AsyncIterable<Uint8Array>,
  fields: Fields,
  store: (file: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<void> {
  let form: BusboyInstance
  try {
    const typed = { headers: { 'content-type': headers.get('content-type')! } }
    form = new Busboy({ ...typed, limits, isPartAFile: (name) => name === 'file' })
  } catch {
    throw errors.notForm()
  }
  let error: unknown
  const fail = (reason: unknown) => {
    error ??= reason
    form.destroy(reason as Error)
  }
  let file: BusboyFileStream | undefined
  let stored: Promise<void> | undefined
  form.on('file', (_, stream) => {
    file = stream.on('error', () => fail(errors.notForm()))
    stored = store(stream)
    stored.catch(fail)
  })
  form.on('field', (name, value, _, isCut) => {
    if (isCut) fail(name === 'mapping' ? errors.mappingTooLong() : errors.notForm())
    else if (name in fields) fail(duplicateParameter(name))
    else fields[name] = value
  })
  form.on('filesLimit', () => fail(duplicateParameter('file')))
  for (const event of ['fieldsLimit', 'partsLimit', 'error'] as const)
    form.on(event, () => fail(errors.notForm()))
  await pipeline(copiesOf(parts), form).catch(async (reason) => {
    file?.destroy(reason)
    await stored?.catch(() => {})
    throw error ?? reason
  })
  if (!stored) throw errors.noFile()
  await stored
}

/** Copies each part, because the form still reads a part after the next part was requested. */
async function* copiesOf(parts: AsyncIterable<Uint8Array>) {
  for await (const part of parts) yield Buffer.from(part)
}

/**
 * Yields the parts of a body as they arrive, with backpressure: a slow consumer makes the client wait. A part is valid until
 * the consumer requests the next one: hundreds of megabytes of parts would accumulate until the garbage collector frees
 * them (measured).
 * @throws HttpError 408 if no part arrives within `timeoutMs` or the body takes too long, 400 if the body is incomplete
 */
export async function* partsOf(
  { body, headers, signal }: Request,
  timeoutMs: number,
  maxMs = receivingMinutes * 60_000,
): AsyncGenerator<Uint8Array> {
  const endsAt = performance.now() + maxMs
  const reader = (body ?? new Blob([]).stream()).getReader()
  let received = 0
  try {
    for (;;) {
      if (performance.now() > endsAt) throw errors.tooLate()
      const next = reader.read().catch(() => Promise.reject(errors.endedEarly()))
      const part = await within(timeoutMs, next)
      if (!part) throw stalled(timeoutMs)
      if (part.done) break
      received += part.value.length
      yield part.value
      const { buffer, byteLength } = part.value
      if (buffer.byteLength === byteLength) buffer.transfer(0)
    }
    if (signal.aborted || received < Number(headers.get('content-length'))) throw errors.endedEarly()
  } finally {
    reader.cancel().catch(() => {})
  }
}

const chunkBytes = 262_144

/**
 * Cuts a file into chunks. A chunk is valid until the consumer requests the next one, so that one chunk is in memory.
 * @throws HttpError 413 if the file exceeds the limit, 400 if it is empty
 */
async function* chunksOf(parts: AsyncIterable<Uint8Array>, limitBytes: number): AsyncGenerator<Buffer> {
  const chunk = Buffer.alloc(chunkBytes)
  let [total, size] = [0, 0]
  for await (const part of parts) {
    total += part.length
    if (total > limitBytes) throw tooLarge(limitBytes)
    for (let at = 0; at < part.length;) {
      const some = part.subarray(at, at + chunkBytes - size)
      chunk.set(some, size)
      size += some.length
      at += some.length
      if (size < chunkBytes) continue
      yield chunk
      size = 0
    }
  }
  if (total === 0) throw errors.emptyFile()
  if (size > 0) yield chunk.subarray(0, size)
}

const pieceBytes = 16_384

/**
 * Stores a chunk, if no earlier attempt has stored it. COPY gets the chunk in pieces: with chunks as parameters, six uploads
 * of 64 MiB take 240 MiB of memory instead of 160 (measured).
 */
const insertChunk = (sql: Sql, importId: string, n: number, bytes: Buffer): Promise<unknown> =>
  retryOnce<unknown>(() =>
    sql.begin(async (tx) => {
      const row = function* () {
        yield `${importId}\t${n}\t\\\\x`
        for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.toString('hex', at, at + pieceBytes)
      }
      const query = tx`copy import_chunks (import_id, n, bytes) from stdin`
      await pipeline(row, await query.writable())
    }),
  ).catch((error: unknown) => {
    if (errorCode(error) !== '23505') throw error
  })

/** Returns the handler of an upload. It checks rights, limits and parameters before it stores the first byte. */
export function openStartImport(services: Services) {
  const uploads = openConcurrencyLimit(uploadLimit)
  const { findRole, config } = services
  return async (context: ReadRequest): Promise<Response> => {
    const { request, caller, permit, query, params } = context
    const project = await requireVisible(findRole, caller, params.id)
    requireEditor(context, project, 'Project')
    const isInForm = isForm(request)
    // The parts of a form may contain the options.
    if (!isInForm) readOptions({ ...query })
    const coding = request.headers.get('content-encoding') ?? 'identity'
    if (!(isInForm ? /^identity$/i : /^(identity|(x-)?gzip)$/i).test(coding)) throw errors.badCoding()
    requireSmall(request, config.importBytes + (isInForm ? formBytes : 0))
    return writeOnce(services, context, (toRecord) => {
      permit.release()
      const release = uploads.acquire(caller.userId)
      return start(services, context, project.projectId, toRecord).finally(release)
    })
  }
}

/** Stores the file, and then the import: a file without an import is deleted by a worker. */
async function start(
  services: Services,
  context: ReadRequest,
  projectId: string,
  toRecord: ToRecord<Reply>,
): Promise<Reply> {
  const { config, database, limits } = services
  const { caller, query, request } = context
  const sql = database.background
  const fields: Fields = { ...query }
  const begun = { id: newId(), createdAt: new Date(nowMs()).toISOString() }
  const store = async (file: AsyncIterable<Uint8Array>) => {
    let n = 0
    for await (const bytes of chunksOf(file, config.importBytes)) {
      if (n === 0 && bytes.toString('latin1', 0, 4) === 'PK\x03\x04') throw errors.zipArchive()
      await limits.budgets?.writes.takeMore(caller, 1)
      await insertChunk(sql, begun.id, n++, bytes)
    }
  }
  await requireFree(sql, projectId, caller.userId)
  const parts = partsOf(request, config.bodyTimeoutMs)
  try {
    await (isForm(request) ? readForm(request.headers, parts, fields, store) : store(parts))
    const row = { ...queued, ...begun, projectId, caller, ...readOptions(fields) }
    return await queueImport(services, row, toRecord)
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
