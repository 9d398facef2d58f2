import { make, type Person, type Sql } from '../kit.ts'
import { endImports } from '../http/own-import.ts'

interface WrongUpload {
  path?: string
  body?: string
  headers?: Record<string, string>
}

/** Starts imports. Returns a request for each error status of the operations of imports. */
export async function openWrongImports(sql: Sql, owner: Person, projectId: string) {
  const startImport = async (id: string) =>
    (await owner.post(`/projects/${id}/imports?source=csv`, 'title')).body.id
  const { id: otherId } = await make(owner, '/projects', { name: 'Imported' })
  const ended = await startImport(otherId)
  await endImports(sql)
  const importId = await startImport(projectId)
  const upload = { path: `/projects/${projectId}/imports?source=csv`, body: 'title' }
  const wrongs: Record<string, Record<number, WrongUpload>> = {
    createImport: {
      400: {},
      409: upload,
      413: { ...upload, headers: { 'content-length': '67108865' } },
      415: { ...upload, headers: { 'content-encoding': 'br' } },
      422: { ...upload, headers: { 'idempotency-key': 'used' } },
    },
    cancelImport: { 409: { path: `/imports/${ended}` } },
    undoImport: { 409: {} },
  }
  return { importId, wrongImport: (operationId: string, status: number) => wrongs[operationId]?.[status] }
}
