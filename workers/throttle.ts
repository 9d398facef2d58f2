import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../src/config.ts'

export interface Throttle {
  /** Rows in one statement, at most. */
  batchRows: number
  /** The least rest between statements; a statement that took longer is followed by as long a rest. */
  pauseMs: number
  /** True when the slice of the job ends: between two pages. */
  isOver?(): boolean
}

/** The slice ended before the job. */
export class SliceEnded extends Error {}

export function beginSlice(config: Config, isStopping: () => boolean): Throttle {
  const end = performance.now() + config.jobSliceMs
  return {
    batchRows: config.jobBatchRows,
    pauseMs: config.jobPauseMs,
    isOver: () => isStopping() || performance.now() > end,
  }
}

/** Repeats `work` until it returns fewer rows than a page has. */
export const whilePagesAreFull = (pace: Throttle, work: () => Promise<number>): Promise<void> =>
  forEachPage(pace, true, async () => (await work()) === pace.batchRows || undefined)

/** Repeats `work`, which takes the last key and returns the next one, or undefined at the end. */
export async function forEachPage<K>(
  pace: Throttle,
  start: K,
  work: (after: K) => Promise<K | undefined>,
): Promise<void> {
  for (let after: K | undefined = start; after !== undefined;) {
    const began = performance.now()
    after = await work(after)
    if (after === undefined) return
    if (pace.isOver?.()) throw new SliceEnded()
    await sleep(Math.max(pace.pauseMs, performance.now() - began))
  }
}
