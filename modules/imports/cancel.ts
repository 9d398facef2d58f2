import type { ReadRequest } from '../../src/commands/query.ts'
import { conflict } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'
import { requireEditableImport, type RequireImport } from './access.ts'
import { cancelImport } from './changes.ts'
import { replyWith, writeOnce } from './write-once.ts'

export const cancelled = { message: 'Import cancelled successfully' }
export const importEnded = () => conflict('The import has already ended')

export function openCancelImport(services: Services, requireImport: RequireImport) {
  const { database } = services
  return async (context: ReadRequest): Promise<Response> => {
    const { id } = await requireEditableImport(requireImport, context)
    return writeOnce(services, context, async (toRecord) => {
      const reply = replyWith(cancelled)
      if (!(await cancelImport(database.background, id, toRecord(reply)))) throw importEnded()
      return reply
    })
  }
}
