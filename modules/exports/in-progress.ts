import { openConcurrencyLimit } from '../../src/admission/concurrency-limit.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { maxExports } from '../../src/postgres/database.ts'
import { tooManyRequests, unavailable } from '../../src/responses/errors.ts'

const what = 'exports'

export type ExportsInProgress = ReturnType<typeof openExportsInProgress>

/** Each export in progress has a connection, and may take long. */
export function openExportsInProgress() {
  const limit = openConcurrencyLimit({ what, ofAll: maxExports, ofAccount: 1 })
  return {
    errors: [
      tooManyRequests(`Too many ${what} of this account are in progress`),
      unavailable(`Too many ${what} are in progress; try again later`),
    ],
    /** Counts what `open` returns until its `close` is called. @throws HttpError 429, 503 */
    async begin<T extends { close(): Promise<void> }>(
      { userId }: Caller,
      open: () => Promise<T>,
    ): Promise<T> {
      const release = limit.acquire(userId)
      try {
        const opened = await open()
        const close = async () => {
          await opened.close()
          release()
        }
        let closing: Promise<void> | undefined
        return { ...opened, close: () => (closing ??= close()) }
      } catch (error) {
        release()
        throw error
      }
    },
  }
}
