import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../src/config.ts'

/** How politely a long job works. */
export interface Pace {
  /** Rows in one statement, at most. */
  batchRows: number
  /** Rest between statements, at least; never less than the statement took, to leave others half the database. */
  pauseMs: number
  /** True when the job has had its slice: it ends between two pages, and goes on where it stopped in its next one. */
  isOver?(): boolean
}

/** A job has had its slice and is not done. */
export class SliceOver extends Error {}

/** The pace of a job whose slice begins now. */
export function beginSlice(config: Config, isStopping: () => boolean): Pace {
  const end = performance.now() + config.jobSliceMs
  return {
    batchRows: config.jobBatchRows,
    pauseMs: config.jobPauseMs,
    isOver: () => isStopping() || performance.now() > end,
  }
}

/** Works off what is found, so many rows at once: `work` answers how many there were, and fewer are the last. */
export const untilFewer = (pace: Pace, work: () => Promise<number>): Promise<void> =>
  perPage(pace, true, async () => (await work()) === pace.batchRows || undefined)

/** Works page by page: `work` gets the last key and answers its own, or undefined at the end. */
export async function perPage<K>(
  pace: Pace,
  start: K,
  work: (after: K) => Promise<K | undefined>,
): Promise<void> {
  for (let after: K | undefined = start; after !== undefined;) {
    const began = performance.now()
    after = await work(after)
    if (after === undefined) return
    if (pace.isOver?.()) throw new SliceOver()
    await sleep(Math.max(pace.pauseMs, performance.now() - began))
  }
}
