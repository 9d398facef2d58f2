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

const retryMs = 10_000
/** An import survives outages of 10 minutes. Afterwards, its job becomes a dead letter. */
const maxRetries = 60

/** Returns a function that runs a slice of a job. A temporary error ends the slice; the next slice continues. */
export function openRunSlice(log: Log) {
  /** The temporary errors in a row, by import. */
  const retries = new Map<string, number>()
  return async (importId: string, slice: () => Promise<void>): Promise<void> => {
    const before = retries.get(importId) ?? 0
    retries.delete(importId)
    try {
      await slice()
    } catch (error) {
      if (error instanceof ImportTaken) throw new SliceEnded()
      const isTemporary = [429, 503].includes(toHttpError(error)?.status ?? 0)
      if (!isTemporary || before === maxRetries) throw error
      retries.set(importId, before + 1)
      const reason = reasonOf(error)
      log.warn({ importId, reason }, 'a temporary error interrupts an import; it continues in 10 seconds')
      throw new SliceEnded(retryMs, reason)
    }
  }
}
