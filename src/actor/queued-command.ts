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
export abstract class QueuedCommand<T = unknown> {
  abstract readonly id: string
  abstract readonly projectId: string
  abstract readonly caller: Caller
  /** On the clock of performance.now(), like `since`. */
  abstract readonly deadline: number
  abstract readonly destinationId?: string
  abstract readonly preload?: Preload
  abstract readonly guard?: IdempotencyKey
  /** Ids that the client chose for new rows. The commit claims them. */
  abstract readonly clientIds?: string[]
  abstract readonly weight?: number
  abstract readonly createsProject?: boolean
  /** False if `recall` cannot rebuild the reply from the log. Then an idempotency record stores the reply. */
  abstract readonly isRecallable: boolean
  /** True if another process may have committed the command. Can become true while the command is in progress. */
  abstract readonly again?: boolean
  // The actor sets this field and the fields up to `isRejected` for each attempt.
  undo?: UndoContext
  /** The `clientIds` that an earlier commit has claimed. */
  claimedIds?: string[]
  rejection?: HttpError
  outcome: unknown
  isRejected = false
  unit?: CommitUnit
  /** The project's version before an attempt whose outcome is unknown. */
  unknownAt?: number
  since = 0
  /** Replaced while the command is in a mailbox. */
  resolve(_answer: T): void {}
  reject(_reason: unknown): void {}
  /** Pure. `destination` equals `state`, unless the row moves to another project. @throws HttpError to reject */
  abstract decide(clock: Clock, state: ProjectState, destination: ProjectState): Decision<T>
  /** Rebuilds the reply from the command's first event in the log. */
  abstract recall(event: StoredEvent, state: ProjectState): T
}

/** Rejects a command after its deadline. */
export const rejectLate = (command: QueuedCommand): void => rejectWith(command, writeTimedOut())

/** Rejects a command with an error. If the command may be committed, the error is always 503 `outcomeUnknown`. */
export function rejectWith(command: QueuedCommand, error: unknown): void {
  const { again, unknownAt, unit, isRejected } = command
  const mayBeWritten = again || unknownAt !== undefined || (unit?.isSent && !isRejected)
  command.reject(mayBeWritten ? outcomeUnknown() : error)
}
