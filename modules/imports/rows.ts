import { imports } from '../../drizzle/schema/imports.ts'
import type { ReadRequest } from '../../src/commands/query.ts'
import { isId, maxId } from '../../src/id-format.ts'
import { requireRole, requireScope } from '../../src/identity/rights.ts'
import { columnList } from '../../src/postgres/columns.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import type { VisibleProject } from '../../src/reads/lookups.ts'
import { jsonBytes, pageBytes, type Page, untilPageFull } from '../../src/reads/pages.ts'
import { notFound } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'

export type ImportRow = typeof imports.$inferSelect

/** True if the import has ended. It may still be undone. */
export const isFinal = ({ state }: Pick<ImportRow, 'state'>): boolean =>
  ['done', 'failed', 'cancelled'].includes(state)
export const isUndoActive = ({ undoState }: Pick<ImportRow, 'undoState'>): boolean =>
  undoState === 'queued' || undoState === 'running'

/** SQL for the condition of the index `imports_active`. */
export const isActive = (sql: Sql) =>
  sql`(state in ('receiving', 'queued', 'running') or undo_state in ('queued', 'running'))`

/** As text, `jsonb` has spaces: it is longer than the JSON in responses, but not twice as long. */
const maxMappingBytes = 2 * pageBytes

export const noImport = () => notFound('Import')

export type Imports = ReturnType<typeof openImports>

/** Reads imports. Responses hide an import while its file arrives, and while a worker removes it. */
export function openImports({ database: { reads: sql }, findRole }: Services) {
  const shown = (condition: SqlPart) => sql`
    select ${columnList(sql, imports, 'imports')} from imports where state not in ('receiving', 'removing') and ${condition}`

  const find = async (id: string): Promise<ImportRow | undefined> =>
    (await sql<ImportRow[]>`${shown(sql`id = ${id}`)}`)[0]

  return {
    find,

    /** @throws HttpError 404 unless the caller may see the project of the import, 403 to change it without the right */
    async requireImport(context: ReadRequest, use: 'read' | 'change' = 'read') {
      const {
        caller,
        params: { id = '' },
      } = context
      const row = isId(id) ? await find(id) : undefined
      const project = row && (await findRole(caller, row.projectId))
      if (!project) throw noImport()
      if (use === 'change') requireEditor(context, project, 'Import')
      return { row, project }
    },

    /** Reads the imports of a project, newest first: one more than the limit, or the imports that fill a page. */
    list(projectId: string, { limit, cursor }: Page) {
      const rows = sql`${shown(sql`project_id = ${projectId} and id < ${cursor ?? maxId}`)} order by id desc limit ${limit + 1}`
      return sql<ImportRow[]>`${untilPageFull(sql, rows, jsonBytes(sql, sql`mapping`), maxMappingBytes)}`
    },
  }
}

/** @throws HttpError 403 */
export function requireEditor({ caller }: ReadRequest, { role }: VisibleProject, noun: string): void {
  requireRole(role, 'EDITOR', noun)
  requireScope(caller, 'write')
}
