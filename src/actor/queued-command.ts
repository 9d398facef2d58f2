import type { Clock } from '../ids.ts'
import type { IdempotencyKey } from '../commit/idempotency.ts'
import type { Caller } from '../identity/rights.ts'
import type { UndoContext } from '../log/undo-input.ts'
import type { Decision } from '../log/rule.ts'
import type { StoredEvent } from '../model/events.ts'
import type { HttpError } from '../responses/errors.ts'
import type { Preload } from './preload.ts'
import type { ProjectState } from './state.ts'

/** Declares methods, so that TypeScript accepts a command with a specific reply as a `QueuedCommand<unknown>`. */
interface Reply<T> {
  resolve(answer: T): void
  reject(reason: unknown): void
}

/** A command in its project's mailbox, with the functions that settle the caller's promise. */
export abstract class QueuedCommand<T = unknown> {
  destinationId?: string
  preload?: Preload
  guard?: IdempotencyKey
  /** Ids that the client chose for new rows. The commit claims them. */
  clientIds?: string[]
  weight?: number
  createsProject?: boolean
  /** False if `recall` cannot rebuild the reply from the log. Then an idempotency record stores the reply. */
  isRecallable = true
  // The actor sets this field and the following fields for each attempt.
  undo?: UndoContext
  /** The `clientIds` that an earlier commit has claimed. */
  claimedIds?: string[]
  rejection?: HttpError
  outcome?: unknown
  isRejected = false
  since = 0
  resolve: Reply<T>['resolve'] = notQueued
  reject: Reply<T>['reject'] = notQueued

  /** @param deadline on the clock of performance.now(), like `since` */
  constructor(
    readonly id: string,
    readonly projectId: string,
    readonly caller: Caller,
    readonly deadline: number,
  ) {}

  /** True if another process may have committed the command. Can become true while the command is in progress. */
  abstract readonly again: boolean | undefined
  /** Checks role and scope before the rows of `preload` are loaded. @throws HttpError 404 without a role, 403 */
  abstract authorize(state: ProjectState, destination: ProjectState): void
  /** Pure. `destination` equals `state`, unless the row moves to another project. @throws HttpError to reject */
  abstract decide(clock: Clock, state: ProjectState, destination: ProjectState): Decision<T>
  /** Rebuilds the reply from the command's first event in the log. */
  abstract recall(event: StoredEvent, state: ProjectState): T
}

const notQueued = (): void => {}
