import { type About, type Operation, outcomeOf, type Request } from './history.ts'
import type { Random } from './random.ts'
import type { KnownProject, KnownTask, User, World } from './world.ts'

interface Lessons {
  learn?(answer: { id: string }, operation: Operation): void
  /** It is gone, or was never ours to touch. */
  forget?(): void
}

export interface Plan extends Lessons {
  request: Request
}

/** Thinks of a request; undefined when there is nothing to ask it about. */
export type Planner = (world: World, random: Random) => Plan | undefined

/** @param to Method and path. */
export function plan(
  kind: string,
  to: `${Request['method']} ${string}`,
  caller: User,
  about: About,
  { body, ifMatch, ...lessons }: Pick<Request, 'body' | 'ifMatch'> & Lessons = {},
): Plan {
  const [method, path] = to.split(' ') as [Request['method'], string]
  return { request: { kind, method, path, caller, body, ifMatch, about }, ...lessons }
}

/** Both when it was deleted and when it is not found. */
export const gone = (drop: () => void): Lessons => ({ learn: drop, forget: drop })

export const aboutProject = ({ id }: Pick<KnownProject, 'id'>) => ({
  ...{ entity: 'project' as const, id, projectId: id },
})
export const aboutTask = ({ id }: Pick<KnownTask, 'id'>) => ({
  ...{ entity: 'task' as const, id, taskId: id },
})

export function settle(plan: Plan, operation: Operation): void {
  if (outcomeOf(operation) === 'done') plan.learn?.(JSON.parse(operation.text) as { id: string }, operation)
  else if (operation.status === 404) plan.forget?.()
}
