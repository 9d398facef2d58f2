import type { Log } from './logger.ts'

/** Runs `work` at an interval, one run at a time. Returns a function that stops `work` and waits for the last run. */
export function repeatedly(work: () => Promise<unknown>, everyMs: number, log: Log): () => Promise<void> {
  let running: Promise<unknown> | undefined
  const timer = setInterval(() => {
    running ??= work()
      .catch((error) =>
        log.debug({ reason: String(error) }, 'periodic work failed; it runs again after the interval'),
      )
      .finally(() => (running = undefined))
  }, everyMs)
  return async () => {
    clearInterval(timer)
    await running
  }
}
