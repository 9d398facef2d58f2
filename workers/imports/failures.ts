import type { ImportCursor } from '../../drizzle/schema/imports.ts'
import { ImportError } from '../../modules/imports/items.ts'
import type { Log } from '../../src/logger.ts'
import { isTransient, toHttpError } from '../../src/postgres/errors.ts'
import { reasonOf } from '../reason.ts'
import { SliceEnded } from '../throttle.ts'
import { ImportTaken } from './import-row.ts'

const maxOutageMs = 600_000
const retryMs = 1_000

/** Decides after an error whether an import has failed, or continues later. */
export function openFailures(log: Log, now = () => performance.now()) {
  /** The start of each import's outage, and the position at which the import stopped. */
  const outages = new Map<string, { at: string; since: number }>()

  /** @throws SliceEnded unless temporary errors have stopped the import at the same position for 10 minutes */
  function continueLater(importId: string, position: Partial<ImportCursor>, error: unknown): void {
    const at = JSON.stringify(position)
    if (outages.get(importId)?.at !== at) outages.set(importId, { at, since: now() })
    if (now() > outages.get(importId)!.since + maxOutageMs) return
    const reason = reasonOf(error)
    log.warn(
      { importId, ...position, reason },
      'a temporary error interrupts an import; it continues in a second',
    )
    throw new SliceEnded(retryMs, reason)
  }

  return {
    /**
     * Returns why the import failed.
     * @throws SliceEnded if the import continues later, and the error itself if it is unexpected
     */
    messageOf({ id, cursor }: { id: string; cursor: ImportCursor }, error: unknown): string {
      if (error instanceof ImportError) return error.message
      if (error instanceof ImportTaken) throw new SliceEnded()
      const http = toHttpError(error)
      if (http?.status === 403) return http.message
      if (http?.status === 404) return 'The project was deleted, or the account is no longer its member'
      if (!http || ![429, 503].includes(http.status)) throw error
      const { step, n } = cursor
      // The step `read` always restarts.
      continueLater(id, step === 'read' ? { step } : { step, n }, error)
      return `${step === 'undo' ? 'The undo' : 'The import'} could not continue: ${reasonOf(http)}`
    },

    /** Runs a slice of a job. @throws SliceEnded also after temporary errors before and after the steps */
    async runSlice(importId: string, slice: () => Promise<void>): Promise<void> {
      try {
        await slice()
      } catch (error) {
        if (error instanceof SliceEnded && error.reason) throw error
        if (isTransient(error)) continueLater(importId, {}, error)
        outages.delete(importId)
        throw error
      }
      outages.delete(importId)
    },
  }
}
