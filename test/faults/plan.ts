import { type Operation, outcomeOf, type Request } from './history.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

/** Something to ask, and what to learn from its answer. */
export interface Plan {
  request: Request
  learn?(answer: { id: string }, operation: Operation): void
  /** It is gone, or was never ours to touch. */
  forget?(): void
}

/** Thinks of a request; undefined when there is nothing to ask it about. */
export type Planner = (world: World, random: Random) => Plan | undefined

export function settle(plan: Plan, operation: Operation): void {
  const { learn } = plan
  if (outcomeOf(operation) === 'done') learn?.(JSON.parse(operation.text) as { id: string }, operation)
  else if (operation.status === 404) plan.forget?.()
}
