import type { Clock } from '../ids.ts'
import type { IdempotencyKey } from '../commit/idempotency.ts'
import type { Caller } from '../identity/rights.ts'
import type { ToldPast } from '../log/past.ts'
import type { Decision } from '../log/rule.ts'
import type { StoredEvent } from '../model/events.ts'
import type { HttpError } from '../responses/errors.ts'
import type { Preload } from './preload.ts'
import type { ProjectState } from './state.ts'

/** A command in the mailbox of its project, with the promise that its caller waits for. */
export interface QueuedCommand<T = unknown> {
  /** The id of the command's first event ends like this id, so the log shows whether the command is committed. */
  readonly id: string
  /** Another process received the command before and may have committed it. Can become true while it is under way. */
  readonly again?: boolean
  readonly projectId: string
  /** A second project written in the same commit: the target of a move. */
  readonly otherProjectId?: string
  readonly caller: Caller
  readonly needs?: Preload
  readonly guard?: IdempotencyKey
  /** Made by the client for new things: claimed with the commit. */
  readonly ownIds?: string[]
  /** The number of writes, if more than one. */
  readonly weight?: number
  /** The project is new. */
  readonly opens?: boolean
  /** On the clock of performance.now(), as `since`. */
  readonly deadline: number
  /** Whether `recall` can answer: false where the reply is kept under an Idempotency-Key instead. */
  readonly isRecallable: boolean
  /** Checks role and scope, before the rows in `needs` are loaded. @throws HttpError 404 for a stranger, 403 */
  authorize(state: ProjectState, other: ProjectState): void
  /** Pure. `other` is the second project's state, if one was named. @throws HttpError to change nothing */
  decide(clock: Clock, state: ProjectState, other: ProjectState): Decision<T>
  /** The answer once more, from the command's first event in the log. */
  recall(event: StoredEvent, state: ProjectState): T
  // Set by the actor, for each attempt:
  past?: ToldPast
  /** Ids of `ownIds` that something else got meanwhile. */
  claimed?: string[]
  /** The error of a command that is rejected before its rule. */
  rejection?: HttpError
  outcome?: unknown
  isRejected?: boolean
  since: number
  resolve(answer: T): void
  reject(reason: unknown): void
}
