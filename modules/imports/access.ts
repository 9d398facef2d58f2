import type { ReadRequest } from '../../src/commands/query.ts'
import { type Caller, requireRole, requireScope } from '../../src/identity/rights.ts'
import { isId } from '../../src/id-format.ts'
import { type FindRole, requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import { notFound } from '../../src/responses/errors.ts'
import type { FindImport, ImportRow } from './rows.ts'

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
