import type { Sql } from '../src/core/database.ts'
import type { Jobs } from '../src/core/jobs.ts'
import type { Log } from '../src/core/log.ts'
import { sweep } from './relay.ts'

const cleanupEveryMs = 10 * 60_000

/**
 * Sweeps the outbox, and keeps the recurring job in the queue. By a timer of this process, not by a job: it is what
 * fills the queue again after Redis lost everything. Stop it by calling what it returns.
 */
export function startSchedule(sql: Sql, jobs: Jobs, log: Log, everyMs: number): () => Promise<void> {
  let running: Promise<unknown> = Promise.resolve()
  let busy = false

  const tick = async () => {
    await sweep(sql, jobs)
    await jobs.queue.upsertJobScheduler('cleanup', { every: cleanupEveryMs }, { name: 'cleanup', opts })
  }
  const timer = setInterval(() => {
    if (busy) return
    busy = true
    running = tick()
      .catch((error) => log.debug({ reason: String(error) }, 'sweep put off'))
      .finally(() => (busy = false))
  }, everyMs)

  return async () => {
    clearInterval(timer)
    await running
  }
}

const opts = { removeOnComplete: true, removeOnFail: true }
