import type { Log } from './log.ts'

/**
 * Does something again and again, never twice at once; what fails is tried again the next time. By a timer of this process, not by a job: for what fills the queue
 * after Redis lost everything. Stop it by calling what it returns.
 */
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
