import { DelayedError, type Job } from 'bullmq'
import type { OutboxRow } from '../drizzle/rows.ts'
import { outbox } from '../drizzle/schema/jobs.ts'
import { nilId } from '../src/id-format.ts'
import { removedAtEnd, type Jobs } from '../src/jobs/queue.ts'
import type { Log } from '../src/logger.ts'
import { columnList } from '../src/postgres/columns.ts'
import type { Sql } from '../src/postgres/database.ts'
import { reasonOf } from './reason.ts'
import { type Throttle, SliceEnded } from './throttle.ts'

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

const bounds = { pageRows: 200, pages: 50 }

/** Reads the next pages of the outbox, queues the jobs that Redis has lost, and returns the number of these jobs. */
export function openSweep(sql: Sql, jobs: Jobs, { pageRows, pages } = bounds): () => Promise<number> {
  const start: Pick<OutboxRow, 'createdAt' | 'id'> = { createdAt: '-infinity', id: nilId }
  let last = start
  return async () => {
    let swept = 0
    for (let page = 0; page < pages; page++) {
      const rows = await sql<OutboxRow[]>`
        select ${columnList(sql, outbox, 'outbox')} from outbox
        where parked_at is null and (created_at, id) > (${last.createdAt}::text::timestamptz, ${last.id}::uuid)
        order by created_at, id limit ${pageRows}`
      const missing = await missingFromQueue(jobs, rows)
      if (!(await jobs.enqueue(missing))) break
      swept += missing.length
      last = rows.length === pageRows ? rows.at(-1)! : start
      if (last === start) break
    }
    return swept
  }
}

async function missingFromQueue(jobs: Jobs, rows: OutboxRow[]): Promise<OutboxRow[]> {
  const absent = await Promise.all(
    [...Map.groupBy(rows, jobs.queueOf)].map(([queue, queued]) =>
      jobs.findMissing(
        queue,
        queued.map(({ id }) => id),
      ),
    ),
  )
  return rows.filter(({ id }) => absent.some((ids) => ids.has(id)))
}
