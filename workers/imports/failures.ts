import { ImportError } from '../../modules/imports/items.ts'
import type { Log } from '../../src/logger.ts'
import { toHttpError } from '../../src/postgres/errors.ts'
import { reasonOf } from '../reason.ts'
import { SliceEnded } from '../throttle.ts'
import { ImportTaken } from './import-row.ts'

/** Returns why an import or its undo has failed. @throws the error itself if the job can continue, or is broken */
export function failureOf(error: unknown): string {
  if (error instanceof ImportError) return error.message
  const http = toHttpError(error)
  if (http?.status === 403) return http.message
  if (http?.status === 404) return 'The project was deleted, or the account is no longer its member'
  throw error
}

const retryMs = 1_000
const maxOutageMs = 600_000

/**
 * Returns a function that runs a slice of a job. A temporary error ends the slice, and the next slice continues. If all
 * slices of 10 minutes end so, the attempt fails.
 */
export function openRunSlice(log: Log, now = () => performance.now()) {
  /** The time of the first of the temporary errors in a row, by import. */
  const outages = new Map<string, number>()
  return async (importId: string, slice: () => Promise<void>): Promise<void> => {
    const since = outages.get(importId) ?? now()
    outages.delete(importId)
    try {
      await slice()
    } catch (error) {
      if (error instanceof ImportTaken) throw new SliceEnded()
      const isTemporary = [429, 503].includes(toHttpError(error)?.status ?? 0)
      if (!isTemporary || now() > since + maxOutageMs) throw error
      outages.set(importId, since)
      const reason = reasonOf(error)
      log.warn({ importId, reason }, 'a temporary error interrupts an import; it continues in a second')
      throw new SliceEnded(retryMs, reason)
    }
  }
}
