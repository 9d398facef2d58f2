import type { Preload } from '../../src/actor/preload.ts'
import type { FactQuery } from '../../src/model/facts.ts'
import type { TaskRow } from '../../drizzle/rows.ts'
import { externalIdFacts } from './external-ids.ts'

/** The facts that the rules need for these fields of a task; usually none. */
export const factsFor = (fields: Partial<TaskRow>): FactQuery[] => externalIdFacts(fields)

/** Returns undefined for a plain input, so that its command needs no load. */
export function preloadFacts(input: object): Preload | undefined {
  const facts = factsFor(input)
  return facts.length > 0 ? { facts } : undefined
}
