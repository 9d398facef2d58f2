import type { Log } from './log.ts'

/** Repeats work, never twice at once. A timer and not a job, because it refills a queue that lost everything. Returns how to stop it. */
export function repeatedly(work: () => Promise<unknown>, everyMs: number, log: Log): () => Promise<void> {
  let running: Promise<unknown> | undefined
  const timer = setInterval(() => {
    running ??= work()
      .catch((error) => log.debug({ reason: String(error) }, 'put off'))
      .finally(() => (running = undefined))
  }, everyMs)
  return async () => {
    clearInterval(timer)
    await running
  }
}
