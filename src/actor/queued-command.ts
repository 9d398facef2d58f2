import type { Clock } from '../ids.ts'
import type { IdempotencyKey } from '../commit/idempotency.ts'
import type { CommitUnit } from '../commit/unit.ts'
import type { Caller } from '../identity/rights.ts'
import type { UndoContext } from '../log/undo-input.ts'
import type { Decision, StoredEvent } from '../model/events.ts'
import { type HttpError, outcomeUnknown, writeTimedOut } from '../responses/errors.ts'
import type { Preload } from './load.ts'
import type { ProjectState } from './state.ts'

/** Declares methods, not function fields, so that a `QueuedCommand<Reply>` is also a `QueuedCommand<unknown>`. */
export interface QueuedCommand<T = unknown> {
  readonly id: string
  readonly projectId: string
  readonly caller: Caller
  /** On the clock of performance.now(), like `since`. */
  readonly deadline: number
  readonly destinationId?: string
  readonly preload?: Preload
  readonly guard?: IdempotencyKey
  /** Ids that the client chose for new rows. The commit claims them. */
  readonly clientIds?: string[]
  readonly weight?: number
  readonly createsProject?: boolean
  /** False if `recall` cannot rebuild the reply from the log. Then an idempotency record stores the reply. */
  readonly isRecallable: boolean
  /** True if another process may have committed the command. Can become true while the command is in progress. */
  readonly again?: boolean
  // The actor sets this field and the fields up to `isRejected` for each attempt.
  undo?: UndoContext
  /** The `clientIds` that an earlier commit has claimed. */
  claimedIds?: string[]
  rejection?: HttpError
  outcome?: unknown
  isRejected?: boolean
  unit?: CommitUnit
  /** The project's version before an attempt whose outcome is unknown. */
  unknownAt?: number
  since: number
  resolve(answer: T): void
  reject(reason: unknown): void
  /** Pure. `destination` equals `state`, unless the row moves to another project. @throws HttpError to reject */
  decide(clock: Clock, state: ProjectState, destination: ProjectState): Decision<T>
  /** Rebuilds the reply from the command's first event in the log. */
  recall(event: StoredEvent, state: ProjectState): T
}

/** Rejects a command after its deadline. */
export const rejectLate = (command: QueuedCommand): void => rejectWith(command, writeTimedOut())

/** Rejects a command with an error. If the command may be committed, the error is always 503 `outcomeUnknown`. */
export function rejectWith(command: QueuedCommand, error: unknown): void {
  const { again, unknownAt, unit, isRejected } = command
  const mayBeWritten = again || unknownAt !== undefined || (unit?.isSent && !isRejected)
  command.reject(mayBeWritten ? outcomeUnknown() : error)
}
