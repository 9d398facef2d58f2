import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../src/config.ts'

export interface Throttle {
  /** The most rows that one statement reads or deletes. */
  batchRows: number
  /** The shortest pause between two statements. After a longer statement, the pause is as long as the statement. */
  pauseMs: number
  /** Returns true when the job has run for its slice of time, or when the worker stops. */
  isOver?(): boolean
}

/** Thrown if the job has not finished at the end of its slice. The job continues in another slice. */
export class SliceEnded extends Error {}

export function beginSlice(config: Config, isStopping: () => boolean): Throttle {
  const endsAt = performance.now() + config.jobSliceMs
  return {
    batchRows: config.jobBatchRows,
    pauseMs: config.jobPauseMs,
    isOver: () => isStopping() || performance.now() > endsAt,
  }
}

/** Repeats `work` while it returns a full page of rows. */
export const whilePagesAreFull = (throttle: Throttle, work: () => Promise<number>): Promise<void> =>
  forEachPage(throttle, true, async () => (await work()) === throttle.batchRows || undefined)

/** Repeats `work` until it returns undefined. `work` gets the previous page's last key and returns its own last key. */
export async function forEachPage<K>(
  throttle: Throttle,
  start: K,
  work: (after: K) => Promise<K | undefined>,
): Promise<void> {
  for (let after: K | undefined = start; after !== undefined;) {
    const startedAt = performance.now()
    after = await work(after)
    if (after === undefined) return
    if (throttle.isOver?.()) throw new SliceEnded()
    await sleep(Math.max(throttle.pauseMs, performance.now() - startedAt))
  }
}
