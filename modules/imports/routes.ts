import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { concurrencyErrors } from '../../src/admission/concurrency-limit.ts'
import type { Config } from '../../src/config.ts'
import { admitFirst, guarded } from '../../src/http/guards.ts'
import { tooLarge } from '../../src/http/json-body.ts'
import type { RouteBuilders } from '../../src/http/route-builders.ts'
import { roleNeeded } from '../../src/identity/rights.ts'
import { responseExample } from '../../src/openapi/example.ts'
import { headerRefs, headersOf, locationAt } from '../../src/openapi/headers.ts'
import { operation } from '../../src/openapi/operation.ts'
import { type HttpError, invalidIdempotencyKey, notFound } from '../../src/responses/errors.ts'
import { named, Message, sampleId } from '../../src/schema/response.ts'
import type { Services } from '../../src/services.ts'
import {
  alreadyUndone,
  cancelled,
  importActive,
  importEnded,
  notEnded,
  openChanges,
  tooManyImports,
  wasDryRun,
} from './changes.ts'
import { getImport, listImports, listReport } from './reads.ts'
import { noImport, openFindImport, openRequireImport } from './rows.ts'
import { formBytes, formParameters, ImportParameters, importView } from './schema.ts'
import { emptyFile, endedEarly, stalled, tooLate, zipArchive } from './upload/file.ts'
import { fileMissing, mappingNotJson, mappingTooLong, notForm, sourceMissing } from './upload/form.ts'
import { codingNotSupported, openStartImport, uploadLimit } from './upload/start.ts'

const importReply = (description: string, values: object, headers = {}) => ({
  description,
  headers: { ...headerRefs(headersOf.write), ...headers },
  content: {
    'application/json': {
      schema: importView.schema,
      example: { ...(responseExample(importView.schema) as object), ...values },
    },
  },
})
const counts = { read: 0, created: 0, updated: 0, unchanged: 0, rejected: 0 }
const queued = { state: 'queued', progress: 0, counts, undo: null, startedAt: null, finishedAt: null }
const undone = { state: 'done', progress: 1, undo: { state: 'done', undone: 98, kept: 2 } }
const undoing = { ...undone, undo: { state: 'running', undone: 40, kept: 0 } }

const written = { tag: 'Imports', scope: 'write' as const, general: [422 as const] }
const active = { id: sampleId, undoState: null }
const location = { Location: locationAt(`/imports/${sampleId}`) }

const File = named(
  'ImportFile',
  Type.String({ format: 'binary', description: 'The file, as it is or compressed with gzip' }),
)
const Form = named(
  'ImportForm',
  Type.Object({ file: File, ...formParameters }, { additionalProperties: false }),
)
const file = 'title,status\nDraw the plate,TODO\n'
const requestBody = {
  required: true,
  content: {
    'application/octet-stream': { schema: File, example: file },
    'multipart/form-data': { schema: Form, example: { source: 'csv', file } },
  },
}

const aboutStart = (bytes: number) =>
  `Stores a file of at most ${bytes} bytes, and queues its import. The body is the file, with any Content-Type, or a form with the part \`file\`; \`source\`, \`dryRun\` and \`mapping\` are query parameters or parts of the form. A long mapping needs a form. The file may be compressed with gzip. \`GET /imports/{id}\` shows the progress, and the mapping that the import uses. With \`dryRun=true\` the import changes nothing, and has the same report. A retry with the same Idempotency-Key gets the import of the first request; the service does not compare the files. Requires the role EDITOR.`

function startHooks({ importBytes, bodyTimeoutMs }: Config) {
  const errors: HttpError[] = [
    ...[
      sourceMissing(),
      mappingNotJson(),
      mappingTooLong(formBytes),
      emptyFile(),
      zipArchive(),
      notForm(),
      fileMissing(),
      endedEarly(),
    ],
    ...[invalidIdempotencyKey(), tooLarge(importBytes), stalled(bodyTimeoutMs), tooLate()],
    ...[
      codingNotSupported(),
      importActive(active),
      tooManyImports(),
      ...concurrencyErrors(uploadLimit.what),
      roleNeeded('EDITOR'),
      notFound('Project'),
    ],
  ]
  const { detail, ...hooks } = operation({
    ...{ ...written, id: 'createImport', summary: 'Import a file', description: aboutStart(importBytes) },
    query: ImportParameters,
    responses: {
      202: importReply('The file is stored, and the import waits for a worker', queued, location),
    },
    errors,
  })
  return { ...hooks, detail: { ...detail, requestBody } }
}

const cancelHooks = operation({
  ...{ ...written, id: 'cancelImport', summary: 'Cancel an import' },
  description:
    'Ends the import. A running import stops after its current batch; the rows that it has written remain, and can be undone. Requires the role EDITOR.',
  responses: {
    200: {
      description: 'Cancelled',
      headers: headerRefs(headersOf.write),
      content: { 'application/json': { schema: Message, example: cancelled } },
    },
  },
  errors: [invalidIdempotencyKey(), importEnded(), roleNeeded('EDITOR'), noImport()],
})

const undoHooks = operation({
  ...{ ...written, id: 'undoImport', summary: 'Undo an import' },
  description:
    'Undoes everything that the import has written, except rows that somebody has changed since: the report lists these rows with the outcome `kept`. An import with kept rows can be undone again, for example after the undo of a later import: the numbers and these lines are then replaced. The response waits up to 10 seconds for the end of the undo. Requires the role EDITOR.',
  responses: {
    200: importReply('The undo has ended', undone),
    202: importReply('The undo continues: see `undo` of the import', undoing, location),
  },
  errors: [
    ...[invalidIdempotencyKey(), notEnded(), wasDryRun(), alreadyUndone(), importActive(active)],
    ...[tooManyImports(), roleNeeded('EDITOR'), noImport()],
  ],
})

export function importRoutes({ callerGuard, uploadGuard, queryRoute }: RouteBuilders, services: Services) {
  const findImport = openFindImport(services.database.reads)
  const requireImport = openRequireImport(services.findRole, findImport)
  const start = guarded(openStartImport(services), { hasQuery: true })
  const { cancel, undo } = openChanges(services, requireImport, findImport)
  const uploads = new Elysia()
    .use(uploadGuard)
    .post('/projects/:id/imports', start as never, { ...startHooks(services.config), transform: admitFirst })
  return new Elysia().use(uploads).use(
    new Elysia()
      .use(callerGuard)
      .get(...queryRoute('/projects/:id/imports', listImports(services), 'List the imports of a project'))
      .get(...queryRoute('/imports/:id', getImport(requireImport), 'Get an import'))
      .get(
        ...queryRoute(
          '/imports/:id/report',
          listReport(services, requireImport),
          'Read the report of an import',
        ),
      )
      .delete('/imports/:id', guarded(cancel) as never, cancelHooks)
      .post('/imports/:id/undo', guarded(undo) as never, undoHooks),
  )
}
