import type { ImportCursor } from '../../../drizzle/schema/imports.ts'
import { ImportError } from '../../../modules/imports/items.ts'
import type { Log } from '../../../src/log.ts'
import { toHttpError } from '../../../src/postgres/errors.ts'
import { reasonOf } from '../../reason.ts'
import { SliceEnded } from '../../throttle.ts'
import { ImportTaken } from './import-row.ts'

const maxOutageMs = 600_000
const retryMs = 1_000

/** The import, and its position. */
interface Position {
  id: string
  cursor: ImportCursor
}

/** Decides after an error whether an import has failed, or continues later. */
export function openFailures(log: Log, now = () => performance.now()) {
  const outages = new Map<string, { at: string; since: number }>()

  /** True if temporary errors have stopped the import at the same position for 10 minutes. */
  function isLongOutage({ id, cursor }: Position): boolean {
    const at = `${cursor.step} ${cursor.step === 'read' ? '' : cursor.n}`
    const known = outages.get(id)
    if (known?.at === at) return now() > known.since + maxOutageMs
    outages.set(id, { at, since: now() })
    return false
  }

  /** @throws SliceEnded unless temporary errors have stopped the import for too long */
  function continueLater(position: Position, error: unknown): void {
    if (isLongOutage(position)) return
    const { id: importId, cursor } = position
    const reason = reasonOf(error)
    log.warn(
      { importId, ...cursor, reason },
      'a temporary error interrupts an import; it continues in a second',
    )
    throw new SliceEnded(retryMs, reason)
  }

  return {
    /** Returns why the import failed. @throws SliceEnded to continue later, and unexpected errors */
    messageOf(position: Position, error: unknown): string {
      if (error instanceof ImportError) return error.message
      if (error instanceof ImportTaken) throw new SliceEnded()
      const http = toHttpError(error)
      if (http?.status === 403) return http.message
      if (http?.status === 404) return 'The project was deleted, or the account is no longer its member'
      if (!http || ![429, 503].includes(http.status)) throw error
      continueLater(position, error)
      const subject = position.cursor.step === 'undo' ? 'The undo' : 'The import'
      return `${subject} could not continue: ${reasonOf(http)}`
    },
    forget: (id: string): void => void outages.delete(id),
  }
}
