import { DelayedError, type Job } from 'bullmq'
import { removedAtEnd, type Jobs } from '../src/jobs/queue.ts'
import type { Log } from '../src/log.ts'
import { type Throttle, SliceEnded } from './throttle.ts'
import { reasonOf } from './reason.ts'

export const recurringQueue = 'recurring'
const everyMs = 60_000

/** Where a step stopped, if it did not finish in one slice. */
export type StepData = { after?: string }

/** Recurring work by name: each step takes the place where it stopped last time, and returns where it stopped now. */
export type Steps = Record<string, (pace: Throttle, after?: string) => Promise<string | undefined | void>>

/**
 * Each step is a job that never ends: it goes back into the queue with its place, so no step waits for another. `keep` puts
 * back the jobs that Redis lost.
 */
export function openRecurring(jobs: Jobs, steps: Steps) {
  const queue = jobs.open<StepData>(recurringQueue)
  const names = Object.keys(steps)
  return {
    async keep() {
      const absent = await jobs.findMissing(queue, names)
      const wanted = [...absent].map((name) => ({ name, data: {}, opts: { ...removedAtEnd, jobId: name } }))
      if (wanted.length > 0) await queue.addBulk(wanted)
    },
    close: () => queue.close(),
  }
}

/** Runs one slice of a step and puts it back: at once, if the slice ended before the step did. */
export async function runStep(steps: Steps, slice: () => Throttle, log: Log, job: Job<StepData>, token?: string) {
  const step = steps[job.name]
  if (!step) return // of another release
  let restMs = everyMs
  try {
    const after = await step(slice(), job.data.after)
    await job.updateData({ after: after ?? undefined })
  } catch (error) {
    if (error instanceof SliceEnded) restMs = 0
    else log.error({ step: job.name, reason: reasonOf(error) }, 'recurring work failed')
  }
  await job.moveToDelayed(Date.now() + restMs, token)
  throw new DelayedError()
}
