import type { CommitHead, CommitUnit } from '../commit/unit.ts'
import { claimOf, isOwn, type IdempotencyRecord, nameOf, replay } from '../commit/idempotency.ts'
import { Clock, newId } from '../ids.ts'
import type { React } from '../log/rule.ts'
import type { EventDraft, StoredEvent } from '../model/events.ts'
import type { Reply } from '../responses/reply.ts'
import { outcomeUnknown, HttpError } from '../responses/errors.ts'
import { logOf, type Prepared, stateOf } from './prepare.ts'
import type { QueuedCommand } from './queued-command.ts'
import { evolve, type State } from './state.ts'

interface Deciding extends Prepared {
  clock: Clock
  unit: CommitUnit
}

/**
 * Decides commands one after another on the evolving states, and returns the unit to commit; a rejected command leaves no
 * trace for the next one. The states run ahead of the database from here on: a commit that fails makes them out of date,
 * with all that was decided on them. So they are not forked for each batch.
 */
export function decideBatch({ states, kept, batch }: Prepared, react: React): CommitUnit {
  const unit: CommitUnit = { heads: states.map(headOf), events: [], jobs: [], kept: [] }
  const last = unit.heads.reduce((id, { lastEventId }) => (id > lastEventId ? id : lastEventId), '')
  const deciding: Deciding = { states, kept, batch, clock: new Clock(last), unit }
  for (const command of batch) decideOne(deciding, command)
  for (const event of unit.events)
    for (const { name, data } of react(event))
      unit.jobs.push({ id: newId(), projectId: event.projectId, name, data })
  unit.heads.forEach((head, n) => {
    const state = states[n]!
    state.forgetDemanded()
    head.version = state.version
    head.lastNumber = state.lastNumber
    head.lastEventId = state.lastEventId
  })
  return unit
}

/** Sends the outcome of each command of a batch, once the commit is certain. */
export function settle(batch: QueuedCommand[]): void {
  for (const command of batch)
    if (command.isRejected) command.reject(command.outcome)
    else command.resolve(command.outcome)
}

function decideOne(deciding: Deciding, command: QueuedCommand): void {
  command.isRejected = false
  try {
    const { guard } = command
    const answered = guard && deciding.kept?.get(nameOf(guard))
    command.outcome = answered ? replay(answered, guard) : decideNew(deciding, command)
  } catch (error) {
    command.isRejected = true
    // A retried command may still be committed by its first copy.
    command.outcome = command.again && error instanceof HttpError ? outcomeUnknown() : error
  }
}

/** Decides a command that was not answered before, and takes its changes into the states and events. */
function decideNew(deciding: Deciding, command: QueuedCommand): unknown {
  const { states, clock, unit } = deciding
  const { rejection, guard, ownIds, past } = command
  if (rejection) throw rejection
  if (past) past.decided = unit.events
  if (ownIds) command.claimed = ownIds.filter((id) => deciding.kept?.has(nameOf(claimOf(id))))
  const source = stateOf(states, command.projectId)
  const target = logOf(states, command)
  const { changes, answer, isBatch } = command.decide(clock, source, target)
  const batch = isBatch ? source.version + 1 : undefined
  for (const change of changes) {
    const { version } = evolve(stateOf(states, change.projectId), change)
    unit.events.push(eventOf(change, version, command.caller.userId, clock.now, batch))
  }
  const isOwnKey = guard !== undefined && isOwn(guard)
  const isNothing = changes.length === 0
  if (isNothing && command.again && (!guard || isOwnKey)) throw outcomeUnknown()
  if (ownIds && !isNothing) for (const id of ownIds) keep(deciding, claimOf(id))
  if (guard && !(isOwnKey && isNothing)) keep(deciding, { ...guard, ...(answer as Reply) })
  return answer
}

function keep(deciding: Deciding, kept: IdempotencyRecord): void {
  deciding.kept ??= new Map()
  deciding.kept.set(nameOf(kept), kept)
  deciding.unit.kept.push(kept)
}

/** Written out: to spread a change costs several times as much, for every event. */
const eventOf = (
  change: EventDraft,
  seq: number,
  actorId: string,
  at: string,
  batch: number | undefined,
): StoredEvent => ({
  id: change.id,
  projectId: change.projectId,
  type: change.type,
  entity: change.entity,
  entityId: change.entityId,
  before: change.before,
  after: change.after,
  undoes: change.undoes,
  untold: change.untold,
  seq,
  actorId,
  at,
  batch,
})

const headOf = ({ projectId, version, lastNumber, lastEventId }: State): CommitHead => ({
  projectId,
  expected: version,
  expectedEventId: lastEventId,
  version,
  lastNumber,
  lastEventId,
})
