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

export interface Prepared {
  states: State[]
  group: QueuedCommand[]
  /** The idempotency records of the group's keys and claimed ids, by `recordName`. */
  records?: Map<string, IdempotencyRecord>
}

interface GroupDecision extends Prepared {
  clock: Clock
  unit: CommitUnit
  isApplying: boolean
}

/** Returns the commit unit. Changes the states in place, so the states are invalid if the commit fails. */
export function decideGroup({ states, records, group }: Prepared, react: Reactions): CommitUnit {
  const unit: CommitUnit = {
    heads: states.map(headOf),
    events: [],
    jobs: [],
    records: [],
    deadline: Infinity,
    isSent: false,
  }
  const last = unit.heads.reduce((id, { lastEventId }) => (id > lastEventId ? id : lastEventId), '')
  const decision: GroupDecision = { states, records, group, clock: new Clock(last), unit, isApplying: false }
  for (const command of group) decideOne(decision, command)
  for (const event of unit.events)
    for (const { name, data } of react(event))
      unit.jobs.push({ id: newId(), projectId: event.projectId, name, data })
  unit.heads.forEach((head, n) => {
    const state = states[n]!
    state.unloadFacts()
    head.version = state.version
    head.lastNumber = state.lastNumber
    head.lastEventId = state.lastEventId
  })
  return unit
}

export function sendOutcomes(group: QueuedCommand[]): void {
  for (const command of group) {
    command.unit = undefined
    if (command.isRejected) command.reject(command.outcome)
    else command.resolve(command.outcome)
  }
}

function decideOne(decision: GroupDecision, command: QueuedCommand): void {
  const { unit } = decision
  command.isRejected = false
  command.unit = unit
  if (command.deadline < unit.deadline) unit.deadline = command.deadline
  try {
    const { guard } = command
    const record = guard && decision.records?.get(recordName(guard))
    command.outcome = record ? replay(record, guard) : decideNew(decision, command)
  } catch (error) {
    if (error instanceof FactNeeded) {
      ;(command.preload!.facts ??= []).push(error.query)
      throw error
    }
    // The state and the unit already contain a part of the command's changes, so the whole group must fail.
    if (decision.isApplying) throw error
    command.isRejected = true
    command.outcome = mayStillCommit(unit, command) && error instanceof HttpError ? outcomeUnknown() : error
  }
}

function decideNew(decision: GroupDecision, command: QueuedCommand): unknown {
  const { states, clock, unit } = decision
  const { rejection, guard, clientIds } = command
  if (rejection) throw rejection
  if (clientIds) command.claimedIds = clientIds.filter((id) => decision.records?.has(recordName(idClaim(id))))
  const source = stateOf(states, command.projectId)
  const target = firstEventState(states, command)
  const { changes, answer, isBatch, isProvisional } = command.decide(clock, source, target)
  const batch = isBatch ? source.version + 1 : undefined
  decision.isApplying = true
  for (const change of changes) {
    const state = stateOf(states, change.projectId)
    state.apply(change)
    // Completes the object of the rule, because a copy would cost more.
    const event = change as StoredEvent
    event.seq = state.version
    event.actorId ??= command.caller.userId
    event.at = clock.now
    event.batch = batch
    unit.events.push(event)
  }
  decision.isApplying = false
  const isOwnKey = guard !== undefined && isCommandKey(guard)
  const isNothing = changes.length === 0
  if (isNothing && mayStillCommit(unit, command) && (!guard || isOwnKey)) throw outcomeUnknown()
  if (clientIds && !isNothing) for (const id of clientIds) addRecord(decision, idClaim(id))
  if (guard && !isProvisional && !(isOwnKey && isNothing)) {
    const { status, body, etag } = answer as Reply
    addRecord(decision, { ...guard, status, body, etag })
  }
  return answer
}

/**
 * True if an earlier attempt may be committed after this one: another process may not have decided it yet, or its
 * statement may still run and expects the current version.
 */
const mayStillCommit = ({ heads }: CommitUnit, { again, unknownAt, projectId }: QueuedCommand): boolean =>
  again === true || heads.some((head) => head.projectId === projectId && head.expected === unknownAt)

function addRecord(decision: GroupDecision, record: IdempotencyRecord): void {
  decision.records ??= new Map()
  decision.records.set(recordName(record), record)
  decision.unit.records.push(record)
}

const headOf = ({ projectId, version, lastNumber, lastEventId }: State): CommitHead => ({
  unit: 0,
  projectId,
  expected: version,
  expectedEventId: lastEventId,
  version,
  lastNumber,
  lastEventId,
})

/**
 * True if nothing must be loaded. Idempotency keys are not looked up: the commit writes nothing if a key is recorded
 * already, and the next attempt looks up the keys of its group.
 */
export function isWarm(actors: StatefulActor[], group: QueuedCommand[]): boolean {
  for (const { state } of actors) {
    if (!state) return false
    for (const { preload, rejection } of group)
      if (rejection || (preload && !hasLoaded(state, preload))) return false
  }
  const states = actors.map(({ state }) => state!)
  return !group.some((command) => mayBeCommitted(states, command))
}

/** True if a command may already be in the log: after a retry, or if it is older than the load of the state. */
export function mayBeCommitted(states: State[], command: QueuedCommand): boolean {
  if (command.again) return true
  const { loaded } = firstEventState(states, command)
  // An id from a clock that was ahead is larger than later ids. In this case, the times are compared too.
  return loaded.eventId >= command.id && !(isCreatedAfter(command.id, loaded.at) && isAhead(loaded.eventId))
}

/** The state of the project whose log gets the command's first event: for a move, the destination. */
export const firstEventState = (
  states: State[],
  { projectId, destinationId = projectId }: QueuedCommand,
): State => stateOf(states, destinationId)

export const stateOf = (states: State[], projectId: string): State =>
  states.length === 1 ? states[0]! : states.find((state) => state.projectId === projectId)!
