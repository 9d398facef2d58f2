import type { ImportCursor } from '../../../drizzle/schema/imports.ts'
import { ImportError } from '../../../modules/imports/items.ts'
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
export function openFailures() {
  const outages = new Map<string, { at: string; since: number }>()

  /** True if temporary errors have stopped the import at the same position for 10 minutes. */
  function isLongOutage({ id, cursor }: Position): boolean {
    const at = `${cursor.step} ${cursor.step === 'read' ? '' : cursor.n}`
    const known = outages.get(id)
    if (known?.at === at) return performance.now() > known.since + maxOutageMs
    outages.set(id, { at, since: performance.now() })
    return false
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
      if (isLongOutage(position)) return `The import could not continue: ${reasonOf(http)}`
      throw new SliceEnded(retryMs)
    },
    forget: (id: string): void => void outages.delete(id),
  }
}
