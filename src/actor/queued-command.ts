import type { Clock } from '../ids.ts'
import type { IdempotencyKey } from '../commit/idempotency.ts'
import type { Caller } from '../identity/rights.ts'
import type { UndoContext } from '../log/undo-input.ts'
import type { Decision } from '../log/rule.ts'
import type { StoredEvent } from '../model/events.ts'
import type { HttpError } from '../responses/errors.ts'
import type { Preload } from './preload.ts'
import type { ProjectState } from './state.ts'

/** A command in its project's mailbox, with the functions that settle the caller's promise. */
export interface QueuedCommand<T = unknown> {
  /** The id of the command's first event ends with the same digits, so the log shows whether the command is committed. */
  readonly id: string
  /** The command is retried: another process may have committed it. Can become true while the command is in progress. */
  readonly again?: boolean
  readonly projectId: string
  /** The second project of the commit: the destination of a move. */
  readonly destinationId?: string
  readonly caller: Caller
  readonly preload?: Preload
  readonly guard?: IdempotencyKey
  /** Ids that the client chose for new rows. The commit claims them. */
  readonly clientIds?: string[]
  /** The number of writes. Default: 1. */
  readonly weight?: number
  readonly createsProject?: boolean
  /** On the clock of performance.now(), like `since`. */
  readonly deadline: number
  /** False if `recall` cannot make the reply again: an idempotency record stores it. */
  readonly isRecallable: boolean
  /** Checks role and scope before the rows of `preload` are loaded. @throws HttpError 404 for a caller without a role, 403 */
  authorize(state: ProjectState, destination: ProjectState): void
  /** Pure. `destination` is the state of the second project, or equal to `state`. @throws HttpError to change nothing */
  decide(clock: Clock, state: ProjectState, destination: ProjectState): Decision<T>
  /** Makes the reply again from the command's first event in the log. */
  recall(event: StoredEvent, state: ProjectState): T
  // The actor sets these for each attempt:
  undo?: UndoContext
  /** The `clientIds` that another row got in the meantime. */
  claimedIds?: string[]
  /** Set if the command is rejected before its rule runs. */
  rejection?: HttpError
  outcome?: unknown
  isRejected?: boolean
  since: number
  resolve(answer: T): void
  reject(reason: unknown): void
}
