import { type TSchema, Type } from '@sinclair/typebox'
import { concurrencyErrors } from '../../src/admission/fair-queue.ts'
import type { Query } from '../../src/commands/query.ts'
import type { Module } from '../../src/module.ts'
import type { OwnRoute } from '../../src/routes/add-routes.ts'
import { maxId } from '../../src/id-format.ts'
import { roleNeeded } from '../../src/identity/rights.ts'
import { headerRefs, headersOf, locationAt } from '../../src/openapi/components.ts'
import { operation, responseExample } from '../../src/openapi/operation.ts'
import { requireVisible } from '../../src/reads/lookups.ts'
import {
  Cursor,
  cutToLimit,
  jsonBytes,
  Limit,
  pageBytes,
  pageOf,
  readCursor,
  readIdPage,
  readLimit,
  untilPageFull,
} from '../../src/reads/pages.ts'
import { invalidIdempotencyKey, notFound } from '../../src/responses/errors.ts'
import { respondByDigest } from '../../src/responses/reply.ts'
import { Input, isCount } from '../../src/schema/input.ts'
import { named, Message, sampleId } from '../../src/schema/response.ts'
import type { Services } from '../../src/services.ts'
import {
  cancelled,
  importActive,
  importEnded,
  importsWhere,
  noImport,
  openCancelImport,
  openUndoImport,
  requireImport,
  tooManyImports,
  undoErrors,
} from './changes.ts'
import {
  formParameters,
  ImportParameters,
  type ImportRow,
  importView,
  type ReportLine,
  reportLineView,
} from './schema.ts'
import { openStartImport, uploadErrors, uploadLimit } from './upload.ts'

const replyOf = (description: string, schema: TSchema, example = responseExample(schema), headers = {}) => ({
  description,
  headers: { ...headerRefs(headersOf.write), ...headers },
  content: { 'application/json': { schema, example } },
})
const importQueued = (description: string, values = {}) => {
  const example = { ...(responseExample(importView.schema) as object), ...values }
  return replyOf(description, importView.schema, example, { Location: locationAt(`/imports/${sampleId}`) })
}

const active = () => [importActive({ id: sampleId, undoState: null }), tooManyImports()]

const writeOperation = ({ description, errors, ...own }: Omit<Parameters<typeof operation>[0], 'tag'>) =>
  operation({
    ...{ tag: 'Imports', scope: 'write', general: [422], ...own },
    description: `${description} Requires the role EDITOR.`,
    errors: [...errors, invalidIdempotencyKey(), roleNeeded('EDITOR')],
  })

const description = 'The file, as it is or compressed with gzip'
const File = named('ImportFile', Type.String({ format: 'binary', description }))
const Form = named('ImportForm', Input({ file: File, ...formParameters }))
const file = 'title,status\nDraw the plate,TODO\n'
const requestBody = {
  required: true,
  content: {
    'application/octet-stream': { schema: File, example: file },
    'multipart/form-data': { schema: Form, example: { source: 'csv', file } },
  },
}

function startOf(services: Services): OwnRoute {
  const { config } = services
  const detail = writeOperation({
    ...{ id: 'createImport', summary: 'Import a file', query: ImportParameters },
    description: `Stores a file of at most ${config.importBytes} bytes, and queues its import. The body is the file, with any Content-Type, or a form with the part \`file\`; \`source\`, \`dryRun\` and \`mapping\` are query parameters or parts of the form. A long mapping needs a form. The file may be compressed with gzip. \`GET /imports/{id}\` shows the progress, and the mapping that the import uses. With \`dryRun=true\` the import changes nothing, and has the same report. A retry with the same Idempotency-Key gets the import of the first request; the service does not compare the files.`,
    responses: {
      202: importQueued('The file is stored, and the import waits for a worker', {
        ...{ state: 'queued', startedAt: null, finishedAt: null },
      }),
    },
    errors: [
      ...uploadErrors(config),
      ...active(),
      ...concurrencyErrors(uploadLimit.what),
      notFound('Project'),
    ],
  })
  return {
    respond: openStartImport(services),
    query: ImportParameters,
    detail: { ...detail, requestBody },
    // The file is never in memory as a whole: a long body takes no more slots than a short body.
    costOf: () => 1,
  }
}

const cancelOperation = writeOperation({
  ...{ id: 'cancelImport', summary: 'Cancel an import' },
  description:
    'Ends the import. A running import stops after its current batch; the rows that it has written remain, and can be undone.',
  responses: { 200: replyOf('Cancelled', Message, cancelled) },
  errors: [importEnded(), noImport()],
})

const undoOperation = writeOperation({
  ...{ id: 'undoImport', summary: 'Undo an import' },
  description:
    'Undoes everything that the import has written, except rows that somebody has changed since: the report lists these rows with the outcome `kept`. An import with kept rows can be undone again, for example after the undo of a later import: the numbers and these lines are then replaced. The response waits up to 10 seconds for the end of the undo.',
  responses: {
    200: replyOf('The undo has ended', importView.schema),
    202: importQueued('The undo continues: see `undo` of the import'),
  },
  errors: [...Object.values(undoErrors).map((error) => error()), ...active(), noImport()],
})

export const imports: Module = {
  routes: (services) => [
    ['post', '/projects/:id/imports', startOf(services)],
    ['get', '/projects/:id/imports', listImports(services), 'List the imports of a project'],
    ['get', '/imports/:id', getImport(services), 'Get an import'],
    ['get', '/imports/:id/report', listReport(services), 'Read the report of an import'],
    ['delete', '/imports/:id', { respond: openCancelImport(services), detail: cancelOperation }],
    ['post', '/imports/:id/undo', { respond: openUndoImport(services), detail: undoOperation }],
  ],
}

const paged = { input: Input({ limit: Limit(50, 200), cursor: Cursor() }), isList: true }

/** As text, `jsonb` has spaces: it is longer than the JSON in responses, but not twice as long. */
const maxMappingBytes = 2 * pageBytes

const listImports = ({ findRole, database: { reads: sql } }: Services): Query => ({
  about: 'Returns the imports of the project, newest first. They are kept for 30 days after their end.',
  ...paged,
  view: importView,
  errors: [notFound('Project')],
  async read({ request, caller, params, query }) {
    const { limit, cursor } = readIdPage(query, 50, 200)
    const { projectId, version } = await requireVisible(findRole, caller, params.id)
    const found = importsWhere(sql, sql`project_id = ${projectId} and id < ${cursor ?? maxId}`)
    const newest = sql`${found} order by id desc limit ${limit + 1}`
    const rows = await sql<ImportRow[]>`
      ${untilPageFull(sql, newest, jsonBytes(sql, sql`mapping`), maxMappingBytes)}`
    const page = pageOf(request, cutToLimit(rows, limit), importView.of, ({ id }) => [id])
    return respondByDigest(request, page, version)
  },
})

const getImport = (services: Services): Query => ({
  about: 'Returns the import with its progress and counts.',
  view: importView,
  errors: [noImport()],
  async read(context) {
    const { row, project } = await requireImport(services, context)
    const body = JSON.stringify(importView.of(row))
    return respondByDigest(context.request, { body, link: null }, project.version)
  },
})

const listReport = (services: Services): Query => ({
  about:
    'Returns a line for each row that was not imported exactly, in the order in which the import found them. The report of a dry run is the report that the import would have. A report has at most 10,000 lines, and as many of an undo; a last line then counts the lines that are left out. If the reports of an account have more than 50,000 lines, one line replaces each of the oldest reports.',
  ...paged,
  view: reportLineView,
  operation: { id: 'listImportReport', tag: 'Imports' },
  errors: [noImport()],
  async read(context) {
    const { request, query } = context
    const limit = readLimit(query.limit, 50, 200)
    const [after] = query.cursor === undefined ? ['-1'] : readCursor(query.cursor, [isCount])
    const { row, project } = await requireImport(services, context)
    const sql = services.database.reads
    const lines = await sql<ReportLine[]>`
      select n, "row", external_id, outcome, message from import_lines
      where import_id = ${row.id} and n > ${after!}::int8 order by n limit ${limit + 1}`
    const page = pageOf(request, cutToLimit(lines, limit), reportLineView.of, ({ n }) => [String(n)])
    return respondByDigest(request, page, project.version)
  },
})
