import type { Calls } from '../calls/calls.ts'
import { sleep } from '../retries.ts'
import type { Import } from '../schemas.ts'
import type { Transport } from '../transport.ts'

const pollMs = 500
const active: unknown[] = ['queued', 'running']

/** @throws DocketError if the import cannot be read; the reason of `signal` */
async function* followImport(
  transport: Transport,
  id: string,
  { signal }: { signal?: AbortSignal } = {},
): AsyncGenerator<Import, void, void> {
  let last = ''
  for (;;) {
    const { body } = await transport.request<Import>('GET', `/imports/${encodeURIComponent(id)}`, { signal })
    const now = JSON.stringify(body)
    if (now !== last) yield body
    if (!active.includes(body.state) && !active.includes(body.undo?.state)) return
    last = now
    await sleep(pollMs, signal)
  }
}

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
