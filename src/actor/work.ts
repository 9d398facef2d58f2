import type { StoredEvent } from '../model/events.ts'
import type { Context, Decision } from '../log/rule.ts'
import type { Guard } from '../commit/idempotency.ts'
import type { Caller } from '../identity/caller.ts'
import type { Reply } from '../wire/reply.ts'
import type { Needs } from './needs.ts'
import type { ProjectState } from './state.ts'

/** What an actor is given to do in its project. */
export interface Work<T> {
  /** Its own id, by which the log says whether it stands: see landed.ts. */
  id: string
  /** It was given to another process before, where it may have been done. That may be learnt while it is under way. */
  readonly again?: boolean
  projectId: string
  /** A second project written in the same commit: the one a task moves to. */
  otherProjectId?: string
  caller: Caller
  needs?: Needs
  /**
   * Checks role and scope before anything is loaded that `needs` names, on the state without it.
   * @throws Refusal 404 for a stranger, 403
   */
  authorize?(state: ProjectState, other: ProjectState): void
  /** The caller's If-Match header. */
  ifMatch?: string
  /** The caller's Idempotency-Key; the answer is kept with the commit. */
  guard?: T extends Reply ? Guard : never
  /** Ids that its client made for what it creates: claimed with its commit. */
  ownIds?: string[]
  /** How many writes it is, if more than one. */
  weight?: number
  /** The project is new: nothing to load, nobody to wait for. */
  opens?: boolean
  /** Pure. Throws a Refusal to change nothing. `other` is the second project's state, if one was named. */
  decide(state: ProjectState, context: Context, other: ProjectState): Decision<T>
  /** Its answer once more, from the event that it began with; none where its guard keeps the answer. */
  recall?: (event: StoredEvent) => T | undefined
}

/** Work on its way, with the promise its caller waits for. */
export interface Posted {
  work: Omit<Work<unknown>, 'guard'> & { guard?: Guard }
  /** When to give up, on the clock of performance.now(). */
  deadline: number
  resolve: (answer: unknown) => void
  reject: (reason: unknown) => void
}
