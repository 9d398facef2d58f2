import type { ImportCursor } from '../../drizzle/schema/imports.ts'
import { ImportError } from '../../modules/imports/items.ts'
import type { Log } from '../../src/logger.ts'
import { isTransient, toHttpError } from '../../src/postgres/errors.ts'
import { reasonOf } from '../reason.ts'
import { SliceEnded } from '../throttle.ts'
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
  const outages = openOutages(now)
  const outagesOfJobs = openOutages(now)

  function continueLater(details: { importId: string; step?: string; n?: number }, reason: string): never {
    log.warn({ ...details, reason }, 'a temporary error interrupts an import; it continues in a second')
    throw new SliceEnded(retryMs, reason)
  }

  return {
    /** Returns why the import failed. @throws SliceEnded to continue later, and unexpected errors */
    messageOf({ id: importId, cursor }: Position, error: unknown): string {
      if (error instanceof ImportError) return error.message
      if (error instanceof ImportTaken) throw new SliceEnded()
      const http = toHttpError(error)
      if (http?.status === 403) return http.message
      if (http?.status === 404) return 'The project was deleted, or the account is no longer its member'
      if (!http || ![429, 503].includes(http.status)) throw error
      const { step, n } = cursor
      if (!outages.isLong(importId, `${step} ${step === 'read' ? '' : n}`))
        continueLater({ importId, step, n }, reasonOf(error))
      return `${step === 'undo' ? 'The undo' : 'The import'} could not continue: ${reasonOf(http)}`
    },

    forget: (importId: string): void => outages.forget(importId),

    /** Runs a slice of a job. @throws SliceEnded also after temporary errors before and after the steps */
    async runSlice(importId: string, slice: () => Promise<void>): Promise<void> {
      try {
        await slice()
      } catch (error) {
        if (isTransient(error) && !outagesOfJobs.isLong(importId))
          continueLater({ importId }, reasonOf(error))
        outagesOfJobs.forget(importId)
        throw error
      }
      outagesOfJobs.forget(importId)
    },
  }
}

/** The start of each import's outage. */
function openOutages(now: () => number) {
  const outages = new Map<string, { at: string; since: number }>()
  return {
    /** True if temporary errors have stopped the import at the same position for 10 minutes. */
    isLong(importId: string, at = ''): boolean {
      const known = outages.get(importId)
      if (known?.at === at) return now() > known.since + maxOutageMs
      outages.set(importId, { at, since: now() })
      return false
    },
    forget: (importId: string): void => void outages.delete(importId),
  }
}
