import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../src/config.ts'

export interface Throttle {
  /** Most rows of one statement. */
  batchRows: number
  /** Pause between statements. After a statement that took longer, the pause is as long as the statement. */
  pauseMs: number
  /** True when the job's slice of time is over. It is checked between two pages. */
  isOver?(): boolean
}

/** Thrown when the slice ends before the job. */
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

/** Repeats `work`, which takes the last key of the previous page and returns its own last key; undefined ends the loop. */
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
