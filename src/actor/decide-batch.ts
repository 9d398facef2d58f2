import { type Clock, clockAfter, newId } from '../ids.ts'
import type { OwedJob } from '../jobs/queue.ts'
import type { Head, Unit } from '../commit/commit.ts'
import type { Change, StoredEvent } from '../model/events.ts'
import type { Context, React } from '../log/rule.ts'
import { claimOf, isOwn, type Kept, nameOf, replay } from '../commit/idempotency.ts'
import { outcomeUnknown, Refusal } from '../wire/refusals.ts'
import type { Reply } from '../wire/answers.ts'
import type { QueuedCommand } from './queued-command.ts'
import { evolve } from './evolve.ts'
import type { State } from './state.ts'
import type { Prepared } from './warm.ts'

/** A decided batch: the unit to commit, and the outcome of each command, sent once the commit is certain. */
export interface Decided {
  unit: Unit
  outcomes: Outcome[]
}

/** An answer, or the reason for a rejection. */
interface Outcome {
  command: QueuedCommand
  answer: unknown
  isRejected: boolean
}

/** A batch while its commands are decided. */
interface Deciding extends Prepared {
  clock: Clock
  events: StoredEvent[]
  /** Replies and claims to keep with the commit. */
  keeps: Map<string, Kept> | undefined
}

/**
 * Decides commands one after another on the evolving states; a rejected command leaves no trace for the next one.
 * The states run ahead of the database from here on: when the commit fails they are out of date, whatever was decided on
 * them, and must be thrown away. So they are not forked for each batch.
 */
export function decideBatch(prepared: Prepared, react: React): Decided {
  const { states, kept, pasts, rejected, batch } = prepared
  const heads = states.map(headOf)
  const clock = clockAfter(states.map(({ lastEventId }) => lastEventId))
  const events: StoredEvent[] = []
  const deciding: Deciding = { states, kept, pasts, rejected, batch, clock, events, keeps: undefined }
  const outcomes = batch.map((command) => decideOne(deciding, command))
  states.forEach((state, n) => {
    state.forgetDemanded()
    const head = heads[n]!
    head.version = state.version
    head.lastNumber = state.lastNumber
    head.lastEventId = state.lastEventId
  })
  const { keeps } = deciding
  return {
    unit: { heads, events, jobs: jobsOf(events, react), kept: keeps ? [...keeps.values()] : [] },
    outcomes,
  }
}

/** Tells the callers of a batch what became of their commands. */
export function settle({ outcomes }: Decided): void {
  for (const { command, answer, isRejected } of outcomes)
    if (isRejected) command.reject(answer)
    else command.resolve(answer)
}

function decideOne(deciding: Deciding, command: QueuedCommand): Outcome {
  try {
    const { guard } = command
    const answered = guard && (deciding.kept.get(nameOf(guard)) ?? deciding.keeps?.get(nameOf(guard)))
    if (answered) return { command, answer: replay(answered, guard), isRejected: false }
    const { answer, isNothing } = decideNew(deciding, command)
    // A retried command may still be committed by its first copy: nobody is told that it changed nothing.
    if (command.again && isNothing) return { command, answer: outcomeUnknown(), isRejected: true }
    return { command, answer, isRejected: false }
  } catch (error) {
    const isUnknown = command.again && error instanceof Refusal
    return { command, answer: isUnknown ? outcomeUnknown() : error, isRejected: true }
  }
}

/** Decides a command that was not answered before, and takes its changes into the states and events. */
function decideNew(deciding: Deciding, command: QueuedCommand) {
  const { states, events } = deciding
  const { guard, ownIds } = command
  const context = contextOf(deciding, command)
  const source = stateOf(states, command.projectId)
  const target = command.otherProjectId ? stateOf(states, command.otherProjectId) : source
  const { changes, answer, isBatch, isTold } = command.decide(source, context, target)
  const batch = isBatch ? source.version + 1 : undefined
  for (const change of changes) {
    const { version } = evolve(stateOf(states, change.projectId), change)
    events.push(eventOf(change, version, context, batch))
  }
  if (ownIds && changes.length > 0) for (const id of ownIds) keep(deciding, claimOf(id))
  const isOwnKey = guard !== undefined && isOwn(guard)
  // The reply of an own key is found again in the log, if it is all there.
  if (guard && !(isOwnKey && (changes.length === 0 || isTold)))
    keep(deciding, { ...guard, ...(answer as Reply) })
  return { answer, isNothing: changes.length === 0 && (!guard || isOwnKey) }
}

/** @throws Refusal why the command was rejected while its batch was prepared */
function contextOf(
  { clock, kept, keeps, pasts, rejected, events }: Deciding,
  command: QueuedCommand,
): Context {
  const refusal = rejected.get(command)
  if (refusal) throw refusal
  const past = pasts.get(command)
  const isKept = (id: string) => kept.has(nameOf(claimOf(id))) || keeps?.has(nameOf(claimOf(id)))
  return {
    caller: command.caller,
    ifMatch: command.ifMatch,
    now: clock.now,
    newId: clock.newId,
    newEventId: clock.idsFor(command.id),
    past: past && { ...past, decided: events },
    claimed: command.ownIds?.filter(isKept),
  }
}

function keep(deciding: Deciding, kept: Kept): void {
  deciding.keeps ??= new Map()
  deciding.keeps.set(nameOf(kept), kept)
}

/** Written out: to spread a change costs several times as much, for every event. */
const eventOf = (change: Change, seq: number, { caller, now }: Context, batch?: number): StoredEvent => ({
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
  actorId: caller.userId,
  at: now,
  batch,
})

/** The head of a project that is still to be decided on. */
const headOf = ({ projectId, version, lastNumber, lastEventId }: State): Head => ({
  ...{ projectId, expected: version, expectedEventId: lastEventId },
  ...{ version, lastNumber, lastEventId },
})

const stateOf = (states: State[], projectId: string): State =>
  states.length === 1 ? states[0]! : states.find((state) => state.projectId === projectId)!

function jobsOf(events: StoredEvent[], react: React): OwedJob[] {
  const jobs: OwedJob[] = []
  for (const event of events)
    for (const { name, data } of react(event))
      jobs.push({ id: newId(), projectId: event.projectId, name, data })
  return jobs
}
