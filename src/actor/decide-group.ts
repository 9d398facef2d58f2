import type { CommitHead, CommitUnit } from '../commit/unit.ts'
import {
  idClaim,
  isCommandKey,
  type IdempotencyRecord,
  recordName,
  replay,
  type IdempotencyKey,
} from '../commit/idempotency.ts'
import { Clock, isAhead, isCreatedAfter, newId } from '../ids.ts'
import type { Reactions, Decision, StoredEvent } from '../model/events.ts'
import { FactNeeded } from '../model/definition.ts'
import type { Reply } from '../responses/reply.ts'
import { outcomeUnknown, HttpError, writeTimedOut } from '../responses/errors.ts'
import { hasLoaded, type Preload } from './load.ts'
import type { State, ProjectState } from './state.ts'
import type { Caller } from '../identity/rights.ts'
import type { UndoInput } from '../log/undo-input.ts'

/** Declares methods, not function fields, so that a `QueuedCommand<Reply>` is also a `QueuedCommand<unknown>`. */
export abstract class QueuedCommand<T = unknown> {
  readonly id: string
  readonly projectId: string
  readonly caller: Caller
  destinationId: string | undefined
  preload: Preload | undefined
  guard: IdempotencyKey | undefined
  /** Ids that the client chose for new rows. The commit claims them. */
  clientIds: string[] | undefined
  weight: number | undefined
  createsProject = false
  /** False if `recall` cannot rebuild the reply from the log. Then an idempotency record stores the reply. */
  isRecallable = true
  /** True if another process may have committed the command. Can become true while the command is in progress. */
  abstract readonly again?: boolean
  // The actor sets this field and the fields up to `isRejected` for each attempt.
  undo?: UndoInput
  /** The `clientIds` that an earlier commit has claimed. */
  claimedIds?: string[]
  rejection?: HttpError
  outcome: unknown
  isRejected = false
  unit?: CommitUnit
  /** The project's version before an attempt whose outcome is unknown. */
  unknownAt?: number
  since = 0

  /** @param deadline on the clock of performance.now(), like `since` */
  constructor(
    { id, projectId, caller }: { id: string; projectId: string; caller: Caller },
    readonly deadline: number,
  ) {
    this.id = id
    this.projectId = projectId
    this.caller = caller
  }

  /** Replaced while the command is in a mailbox. */
  resolve(_answer: T): void {}
  reject(_reason: unknown): void {}
  /** Checks role and scope before the rows of `preload` are loaded. @throws HttpError 403, 404 */
  abstract authorize(state: ProjectState, destination: ProjectState): void
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

/** The part of an actor that a commit uses. `state` is set to null when it is out of date. */
export interface StatefulActor {
  readonly projectId: string
  state: State | null
}

/** Commands that are decided and committed together, and the states of their projects: two for a move, else one. */
export class Group {
  /** The idempotency records of the commands' keys and claimed ids, by `recordName`. */
  records = new Map<string, IdempotencyRecord>()

  /** @param states null for a project whose state is not loaded: the group is then not warm */
  constructor(
    readonly states: State[],
    public commands: QueuedCommand[],
  ) {}

  stateOf(projectId: string): State {
    // By index, because this runs several times for each command.
    const second = this.states[1]
    return second?.projectId === projectId ? second : this.states[0]!
  }

  /** The state of the project whose log gets the command's first event: for a move, the destination. */
  firstEventState({ projectId, destinationId = projectId }: QueuedCommand): State {
    return this.stateOf(destinationId)
  }

  /**
   * True if nothing must be loaded. Idempotency keys are not looked up: the commit writes nothing if a key is recorded
   * already, and the next attempt looks up the keys of its group.
   */
  isWarm(): boolean {
    for (const state of this.states)
      for (const { preload, rejection } of this.commands)
        if (!state || rejection || (preload && !hasLoaded(state, preload))) return false
    return !this.commands.some((command) => this.mayBeCommitted(command))
  }

  /** True if a command may already be in the log: after a retry, or if it is older than the load of the state. */
  mayBeCommitted(command: QueuedCommand): boolean {
    if (command.again) return true
    const { loaded } = this.firstEventState(command)
    // An id from a clock that was ahead is larger than later ids. In this case, the times are compared too.
    return loaded.eventId >= command.id && !(isCreatedAfter(command.id, loaded.at) && isAhead(loaded.eventId))
  }

  /** Returns the commit unit. Changes the states in place, so the states are invalid if the commit fails. */
  decide(react: Reactions): CommitUnit {
    const heads = this.states.map(headOf)
    const unit: CommitUnit = { heads, events: [], jobs: [], records: [], deadline: Infinity, isSent: false }
    const clock = new Clock(heads.reduce((id, { lastEventId }) => (id > lastEventId ? id : lastEventId), ''))
    for (const command of this.commands) this.decideOne(command, unit, clock)
    for (const event of unit.events)
      for (const { name, data } of react(event))
        unit.jobs.push({ id: newId(), projectId: event.projectId, name, data })
    heads.forEach((head, n) => {
      const state = this.states[n]!
      state.unloadFacts()
      head.version = state.version
      head.lastNumber = state.lastNumber
      head.lastEventId = state.lastEventId
    })
    return unit
  }

  private decideOne(command: QueuedCommand, unit: CommitUnit, clock: Clock): void {
    command.isRejected = false
    command.unit = unit
    if (command.deadline < unit.deadline) unit.deadline = command.deadline
    const { guard } = command
    const record = guard && this.records.get(recordName(guard))
    let decision: Decision<unknown> | undefined
    try {
      if (record) command.outcome = replay(record, guard)
      else decision = this.decideNew(command, unit, clock)
    } catch (error) {
      if (error instanceof FactNeeded) {
        ;(command.preload!.facts ??= []).push(error.query)
        throw error
      }
      command.isRejected = true
      command.outcome = mayStillCommit(unit, command) && error instanceof HttpError ? outcomeUnknown() : error
    }
    // If this fails, the whole group must fail: the state and the unit then contain a part of the command's changes.
    if (decision) this.apply(command, decision, unit, clock.now)
  }

  private decideNew(command: QueuedCommand, unit: CommitUnit, clock: Clock): Decision<unknown> {
    const { rejection, guard, clientIds } = command
    if (rejection) throw rejection
    if (clientIds) command.claimedIds = clientIds.filter((id) => this.records.has(recordName(idClaim(id))))
    const decision = command.decide(clock, this.stateOf(command.projectId), this.firstEventState(command))
    const isUnknown = decision.changes.length === 0 && mayStillCommit(unit, command)
    if (isUnknown && (!guard || isCommandKey(guard))) throw outcomeUnknown()
    return decision
  }

  private apply(command: QueuedCommand, decision: Decision<unknown>, unit: CommitUnit, at: string): void {
    const { guard, clientIds, caller } = command
    const { changes, answer, isBatch, isProvisional } = decision
    const batch = isBatch ? this.stateOf(command.projectId).version + 1 : undefined
    for (const change of changes) {
      const state = this.stateOf(change.projectId)
      state.apply(change)
      // Completes the object of the rule, because a copy would cost more.
      const event = change as StoredEvent
      event.seq = state.version
      event.actorId ??= caller.userId
      event.at = at
      event.batch = batch
      unit.events.push(event)
    }
    const isNothing = changes.length === 0
    if (clientIds && !isNothing) for (const id of clientIds) this.addRecord(unit, idClaim(id))
    if (guard && !isProvisional && !(isNothing && isCommandKey(guard))) {
      const { status, body, etag } = answer as Reply
      this.addRecord(unit, { ...guard, status, body, etag })
    }
    command.outcome = answer
  }

  private addRecord(unit: CommitUnit, record: IdempotencyRecord): void {
    this.records.set(recordName(record), record)
    unit.records.push(record)
  }
}

export function sendOutcomes(commands: QueuedCommand[]): void {
  for (const command of commands) {
    command.unit = undefined
    if (command.isRejected) command.reject(command.outcome)
    else command.resolve(command.outcome)
  }
}

/**
 * True if an earlier attempt may be committed after this one: another process may not have decided it yet, or its
 * statement may still run and expects the current version.
 */
const mayStillCommit = ({ heads }: CommitUnit, { again, unknownAt, projectId }: QueuedCommand): boolean =>
  again === true || heads.some((head) => head.projectId === projectId && head.expected === unknownAt)

const headOf = ({ projectId, version, lastNumber, lastEventId }: State): CommitHead => ({
  unit: 0,
  projectId,
  expected: version,
  expectedEventId: lastEventId,
  version,
  lastNumber,
  lastEventId,
})
