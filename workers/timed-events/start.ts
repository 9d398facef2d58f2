import { repeatedly } from '../../src/repeatedly.ts'
import type { Services } from '../../src/services.ts'
import { kinds } from './find.ts'
import { openRound } from './round.ts'

const searchEveryMs = 1_000

/** Each kind of time has rounds of its own, so that many due dates delay no end of a claim. */
export function startTimedEvents(services: Services): () => Promise<void> {
  let isStopping = false
  const all = kinds.map((kind) => openRound(services, kind, () => isStopping))
  const stops = all.map(({ round }) => repeatedly(round, searchEveryMs, services.log))
  return async () => {
    isStopping = true
    await Promise.all(stops.map((stop) => stop()))
    await Promise.all(all.map(({ drain }) => drain()))
  }
}
