import type { Preload } from '../../src/actor/preload.ts'
import type { FactQuery } from '../../src/model/facts.ts'
import type { TaskRow } from '../../drizzle/rows.ts'
import { spotFacts } from '../order/place.ts'
import { restoredFacts } from '../order/restore.ts'
import { blockerFacts } from './blockers.ts'
import { externalIdFacts } from './external-ids.ts'

/** The data that the rules need to check these fields of a task; usually none. */
export function factsFor(fields: Partial<TaskRow>): FactQuery[] {
  const facts = [...externalIdFacts(fields), ...blockerFacts(fields)]
  return fields.position ? [...facts, ...restoredFacts(fields)] : facts
}

/** Returns undefined for a plain input, so that its command needs no load. */
export function preloadFacts(input: object): Preload | undefined {
  const facts = [...factsFor(input), ...spotFacts(input)]
  return facts.length > 0 ? { facts } : undefined
}
