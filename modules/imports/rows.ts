import { imports, type ImportState, type UndoState } from '../../drizzle/schema/imports.ts'
import type { ReadRequest } from '../../src/commands/query.ts'
import { type Caller, requireRole, requireScope } from '../../src/identity/rights.ts'
import { isId, maxId } from '../../src/id-format.ts'
import { columnList } from '../../src/postgres/columns.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { type FindRole, requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import { jsonBytes, pageBytes, type Page, untilPageFull } from '../../src/reads/pages.ts'
import { notFound } from '../../src/responses/errors.ts'

export type ImportRow = typeof imports.$inferSelect

const finalStates: ImportState[] = ['done', 'failed', 'cancelled']
const activeUndoStates: (UndoState | null)[] = ['queued', 'running']

/** True if the import has ended. It may still be undone. */
export const isFinal = ({ state }: Pick<ImportRow, 'state'>): boolean => finalStates.includes(state)
export const isUndoActive = ({ undoState }: Pick<ImportRow, 'undoState'>): boolean =>
  activeUndoStates.includes(undoState)

/**
 * SQL that is true for imports that responses show. Responses hide an import while its file arrives, and while a worker
 * removes it.
 */
export const isShown = (sql: Sql) => sql`state not in ('receiving', 'removing')`

/** SQL for the condition of the index `imports_active`. */
export const isActive = (sql: Sql) =>
  sql`(state in ('receiving', 'queued', 'running') or undo_state in ('queued', 'running'))`

const importColumns = (sql: Sql, alias = 'imports') => columnList(sql, imports, alias)

export type FindImport = (id: string) => Promise<ImportRow | undefined>

export const openFindImport =
  (sql: Sql): FindImport =>
  async (id) => {
    const [row] = await sql<ImportRow[]>`
      select ${importColumns(sql)} from imports where id = ${id} and ${isShown(sql)}`
    return row
  }

/** As text, `jsonb` has spaces: it is longer than the JSON in responses, but not twice as long. */
const maxMappingBytes = 2 * pageBytes

/** Reads the imports of a project, newest first: one more than the limit, or the imports that fill a page. */
export const importsOf = (sql: Sql, projectId: string, { limit, cursor }: Page) => {
  const rows = sql`
    select ${importColumns(sql)} from imports
    where project_id = ${projectId} and id < ${cursor ?? maxId} and ${isShown(sql)} order by id desc limit ${limit + 1}`
  return sql<ImportRow[]>`${untilPageFull(sql, rows, jsonBytes(sql, sql`mapping`), maxMappingBytes)}`
}

export const noImport = () => notFound('Import')

interface VisibleImport {
  row: ImportRow
  project: VisibleProject
}

export type RequireImport = (caller: Caller, id?: string) => Promise<VisibleImport>

/** Returns a function that reads an import. @throws HttpError 404 unless the caller may see its project */
export function openRequireImport(findRole: FindRole, findImport: FindImport): RequireImport {
  return async (caller, id = '') => {
    const row = isId(id) ? await findImport(id) : undefined
    const project = row && (await findRole(caller, row.projectId))
    if (!project) throw noImport()
    return { row, project }
  }
}

/** @throws HttpError 403 or 404 */
export async function requireEditableProject(
  findRole: FindRole,
  { caller, params }: ReadRequest,
): Promise<VisibleProject> {
  const project = await requireVisible(findRole, caller, params.id)
  requireRole(project.role, 'EDITOR', 'Project')
  requireScope(caller, 'write')
  return project
}

/** @throws HttpError 403 or 404 */
export async function requireEditableImport(
  requireImport: RequireImport,
  { caller, params }: ReadRequest,
): Promise<ImportRow> {
  const { row, project } = await requireImport(caller, params.id)
  requireRole(project.role, 'EDITOR', 'Import')
  requireScope(caller, 'write')
  return row
}
