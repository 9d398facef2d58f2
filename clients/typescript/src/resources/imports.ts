import type { Calls } from '../calls/calls.ts'
import { followImport } from '../feed/follow-import.ts'

/** Imports of files of other systems, and of Docket. */
export const openImports = (calls: Calls) => ({
  /** Sends the file. It must not change until the call ends, because a retry sends it again. */
  create: calls.upload('createImport', 'POST /projects/{projectId}/imports'),
  get: calls.byId('getImport', 'GET /imports/{id}'),
  list: calls.list('listImports', 'GET /projects/{projectId}/imports'),
  /** Reads a line for each row that was not imported exactly. */
  report: calls.listById('listImportReport', 'GET /imports/{id}/report'),
  /** Yields the import now and after each change, until it has ended. */
  follow: (id: string, options?: { signal?: AbortSignal }) => followImport(calls.transport, id, options),
  cancel: calls.byId('cancelImport', 'DELETE /imports/{id}'),
  /** Undoes everything that the import has written. If this takes longer than 10 seconds, `undo` is not yet `done`. */
  undo: calls.byId('undoImport', 'POST /imports/{id}/undo'),
})
