import { DelayedError, type Job } from 'bullmq'
import { forgotten, type Jobs } from '../src/jobs/queue.ts'
import type { Log } from '../src/log.ts'
import { type Pace, SliceOver } from './pace.ts'
import { reasonOf } from './reason.ts'

export const recurringQueue = 'recurring'
const everyMs = 60_000
/** Where a step stopped, when it looks over more than it does in one slice. */
export type Place = { after?: string }
/** Recurring work by name: each gets where it stopped last time and answers where it stopped now. */
export type Steps = Record<string, (pace: Pace, after?: string) => Promise<string | undefined | void>>

/**
 * Each step is a job of its own that never ends: it goes back into the queue until its next time, and carries its place.
 * So none waits for another, and none for a queue full of other work. What Redis lost is put back by this, and begins anew.
 */
export function openRecurring(jobs: Jobs, steps: Steps) {
  const queue = jobs.open<Place>(recurringQueue)
  const names = Object.keys(steps)
  return {
    async keep() {
      const absent = await jobs.absent(queue, names)
      const wanted = [...absent].map((name) => ({ name, data: {}, opts: { ...forgotten, jobId: name } }))
      if (wanted.length > 0) await queue.addBulk(wanted)
    },
    close: () => queue.close(),
  }
}

export async function runStep(
  steps: Steps,
  beginSlice: () => Pace,
  log: Log,
  job: Job<Place>,
  token?: string,
) {
  const step = steps[job.name]
  if (!step) return // of another release
  let restMs = everyMs
  try {
    const after = await step(beginSlice(), job.data.after)
    await job.updateData({ after: after ?? undefined })
  } catch (error) {
    if (error instanceof SliceOver) restMs = 0
    else log.error({ step: job.name, reason: reasonOf(error) }, 'recurring work failed')
  }
  await job.moveToDelayed(Date.now() + restMs, token)
  throw new DelayedError()
}
