import { repeatedly } from '../../src/repeatedly.ts'
import type { Services } from '../../src/services.ts'
import { kinds } from './find.ts'
import { Recorder } from './recorder.ts'
import { openRound } from './round.ts'

const searchEveryMs = 1_000

/** Each kind of time has rounds and commands of its own, so that many due dates delay no end of a claim. */
export function startTimedEvents(services: Services): () => Promise<void> {
  const { jobBatchRows: batchRows, jobPauseMs: pauseMs } = services.config
  let isStopping = false
  const pages = { batchRows, pauseMs, isOver: () => isStopping }
  const stops = kinds.map((kind) => {
    const recorder = new Recorder(services, pages)
    const stop = repeatedly(openRound(services, kind, recorder, pages), searchEveryMs, services.log)
    return () => stop().then(recorder.drain)
  })
  return async () => {
    isStopping = true
    await Promise.all(stops.map((stop) => stop()))
  }
}
