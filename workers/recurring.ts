import { DelayedError, type Job } from 'bullmq'
import { removedAtEnd, type Jobs } from '../src/jobs/queue.ts'
import type { Log } from '../src/log.ts'
import { type Throttle, SliceEnded } from './throttle.ts'
import { reasonOf } from './reason.ts'

export const recurringQueue = 'recurring'
const everyMs = 60_000

/** The position at which a step continues, if it did not finish in one slice. */
export type StepData = { after?: string }

/** Recurring steps by name. A step takes the position at which it stopped last time, and returns its new position. */
export type Steps = Record<string, (throttle: Throttle, after?: string) => Promise<string | undefined | void>>

/** Opens the recurring steps, each as a job that never ends. `restore` adds the jobs that are missing from Redis. */
export function openRecurring(jobs: Jobs, steps: Steps) {
  const queue = jobs.open<StepData>(recurringQueue)
  return {
    async restore() {
      const missing = await jobs.findMissing(queue, Object.keys(steps))
      const added = [...missing].map((name) => ({ name, data: {}, opts: { ...removedAtEnd, jobId: name } }))
      if (added.length > 0) await queue.addBulk(added)
    },
    close: () => queue.close(),
  }
}

/** Runs one slice of a step, then delays the job by a minute, or not at all if the slice ended before the step. */
export async function runStep(
  steps: Steps,
  beginSlice: () => Throttle,
  log: Log,
  job: Job<StepData>,
  token?: string,
) {
  const step = steps[job.name]
  if (!step) return // a step of another release
  let delayMs = everyMs
  try {
    const after = await step(beginSlice(), job.data.after)
    await job.updateData({ after: after ?? undefined })
  } catch (error) {
    if (error instanceof SliceEnded) delayMs = 0
    else log.error({ step: job.name, reason: reasonOf(error) }, 'recurring step failed')
  }
  await job.moveToDelayed(Date.now() + delayMs, token)
  throw new DelayedError()
}
