import type { Sql } from '../../../src/postgres/database.ts'
import { HttpError, notFound, unavailable } from '../../../src/responses/errors.ts'
import type { ImportRow } from '../rows.ts'

/** A file must arrive within this time. */
export const receivingMinutes = 10

export const tooLate = () =>
  new HttpError(408, `The file must arrive within ${receivingMinutes} minutes`, { connection: 'close' })
export const interrupted = () => unavailable('The upload was interrupted: send the file again')

/** A worker has removed the import while its file was arriving. */
export class UploadRemoved extends Error {}

/** Returns the error for the client of a removed upload. */
export async function removalError(
  sql: Sql,
  { id, projectId, createdAt }: Pick<ImportRow, 'id' | 'projectId' | 'createdAt'>,
): Promise<HttpError> {
  const [row] = await sql<{ hasProject: boolean; isLate: boolean }[]>`
    select exists (select from projects where id = ${projectId}) as has_project,
      coalesce((select created_at from imports where id = ${id}), ${createdAt}::timestamptz)
        < now() - ${receivingMinutes}::int4 * interval '1 minute' as is_late`
  if (!row!.hasProject) return notFound('Project')
  return row!.isLate ? tooLate() : interrupted()
}
