import type { Query } from '../../src/commands/query.ts'
import { requireVisible } from '../../src/reads/lookups.ts'
import {
  Cursor,
  cutToLimit,
  Limit,
  pageOf,
  readCursor,
  readIdPage,
  readLimit,
} from '../../src/reads/pages.ts'
import { notFound } from '../../src/responses/errors.ts'
import { respondByDigest } from '../../src/responses/reply.ts'
import { Input } from '../../src/schema/input.ts'
import { isCount } from '../../src/schema/text.ts'
import type { Services } from '../../src/services.ts'
import { importsOf, noImport, type RequireImport } from './rows.ts'
import { importView, type ReportLine, reportLineView } from './schema.ts'

const paged = { input: Input({ limit: Limit(50, 200), cursor: Cursor() }), isList: true }

export const listImports = ({ database: { reads: sql }, findRole }: Services): Query => ({
  about: 'Returns the imports of the project, newest first. They are kept for 30 days after their end.',
  ...paged,
  view: importView,
  errors: [notFound('Project')],
  async read({ request, caller, params, query }) {
    const asked = readIdPage(query, 50, 200)
    const { projectId, version } = await requireVisible(findRole, caller, params.id)
    const rows = await importsOf(sql, projectId, asked)
    const page = pageOf(request, cutToLimit(rows, asked.limit), importView.of, ({ id }) => [id])
    return respondByDigest(request, page, version)
  },
})

export const getImport = (requireImport: RequireImport): Query => ({
  about: 'Returns the import with its progress and counts.',
  view: importView,
  errors: [noImport()],
  async read({ request, caller, params }) {
    const { row, project } = await requireImport(caller, params.id)
    return respondByDigest(request, { body: JSON.stringify(importView.of(row)), link: null }, project.version)
  },
})

export const listReport = ({ database: { reads: sql } }: Services, requireImport: RequireImport): Query => ({
  about:
    'Returns a line for each row that was not imported exactly, in the order in which the import found them. The report of a dry run is the report that the import would have. A report has at most 10,000 lines, and as many of an undo; a last line then counts the lines that are left out. If the reports of an account have more than 50,000 lines, one line replaces each of the oldest reports.',
  ...paged,
  view: reportLineView,
  operation: { id: 'listImportReport', tag: 'Imports' },
  errors: [noImport()],
  async read({ request, caller, params, query }) {
    const limit = readLimit(query.limit, 50, 200)
    const [after] = query.cursor === undefined ? ['-1'] : readCursor(query.cursor, [isCount])
    const { row, project } = await requireImport(caller, params.id)
    const lines = await sql<ReportLine[]>`
      select n, "row", external_id, outcome, message from import_lines
      where import_id = ${row.id} and n > ${after!}::int8 order by n limit ${limit + 1}`
    const page = pageOf(request, cutToLimit(lines, limit), reportLineView.of, ({ n }) => [String(n)])
    return respondByDigest(request, page, project.version)
  },
})
