import { DelayedError, type Job } from 'bullmq'
import { removedAtEnd, type Jobs } from '../src/jobs/queue.ts'
import type { Log } from '../src/log.ts'
import { type Throttle, SliceEnded } from './throttle.ts'
import { reasonOf } from './reason.ts'

export const recurringQueue = 'recurring'
const everyMs = 60_000

export type StepData = { after?: string }

/** A step gets the position that its last run returned, and returns its next position. */
export type Steps = Record<string, (throttle: Throttle, after?: string) => Promise<string | undefined | void>>

/** A recurring step is a job that schedules its next run after each run. `restore` adds jobs that Redis has lost. */
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

/** The next run is in a minute, or immediately if the step did not finish within `jobSliceMs`. */
export async function runStep(
  steps: Steps,
  beginSlice: () => Throttle,
  log: Log,
  job: Job<StepData>,
  token?: string,
) {
  const step = steps[job.name]
  if (!step) return
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
