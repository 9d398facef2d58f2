import { concurrencyErrors, openConcurrencyLimit } from '../../src/admission/concurrency-limit.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { maxExports } from '../../src/postgres/database.ts'

const what = 'exports'

export type ExportsInProgress = ReturnType<typeof openExportsInProgress>

/** Limits the exports in progress: each uses a database connection for up to 30 minutes. */
export function openExportsInProgress() {
  const limit = openConcurrencyLimit({ what, ofAll: maxExports, ofAccount: 1 })
  return {
    errors: concurrencyErrors(what),
    /** Opens an export, which is in progress until its `close` is called. @throws HttpError 429, 503 */
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
