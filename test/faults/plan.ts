import { type About, type Operation, outcomeOf, type Request } from './history.ts'
import type { Random } from './random.ts'
import type { ProjectRef, TaskRef, User, World } from './world.ts'

interface Handlers {
  onSuccess?(body: { id: string }, operation: Operation): void
  onMissing?(): void
}

export interface Plan extends Handlers {
  request: Request
}

/** Plans a random request; undefined if the clients know no row for such a request. */
export type Planner = (world: World, random: Random) => Plan | undefined
type Found = NonNullable<ReturnType<World['task']>>

/** Plans a request for a random task that the clients know. */
export const forTask =
  (planOf: (found: Found, ...by: Parameters<Planner>) => Plan | undefined): Planner =>
  (world, random) => {
    const found = world.task(random)
    return found && planOf(found, world, random)
  }

export function plan(
  kind: string,
  to: `${Request['method']} ${string}`,
  caller: User,
  about: About,
  { body, ifMatch, ...handlers }: Pick<Request, 'body' | 'ifMatch'> & Handlers = {},
): Plan {
  const [method, path] = to.split(' ') as [Request['method'], string]
  return { request: { kind, method, path, caller, body, ifMatch, about }, ...handlers }
}

/** Handlers for a deletion, where 404 also means that the row is deleted. */
export const deletes = (remove: () => void): Handlers => ({ onSuccess: remove, onMissing: remove })

export const aboutNewProject = { entity: 'project' as const, id: '' }
export const aboutProject = ({ id }: Pick<ProjectRef, 'id'>): About => ({
  entity: 'project',
  id,
  projectId: id,
})
export const aboutTask = ({ id }: Pick<TaskRef, 'id'>): About => ({ entity: 'task', id, taskId: id })

export function applyResponse(plan: Plan, operation: Operation): void {
  if (outcomeOf(operation) === 'done')
    plan.onSuccess?.(JSON.parse(operation.text) as { id: string }, operation)
  else if (operation.status === 404) plan.onMissing?.()
}
