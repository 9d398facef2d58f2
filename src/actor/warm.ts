import { type Guard, isOwn, type Kept } from '../commit/idempotency.ts'
import type { Past } from '../log/past.ts'
import { isAhead, isMadeAfter } from '../ids.ts'
import type { Refusal } from '../wire/refusals.ts'
import type { QueuedCommand } from './queued-command.ts'
import type { State } from './state.ts'

/** What an actor lends to a commit: its project's warm state, which is dropped when it proves stale. */
export interface Holder {
  readonly projectId: string
  state: State | null
}

/** What a batch is decided on: the states, and the replies that its Idempotency-Keys got before. */
export interface Prepared {
  states: State[]
  kept: ReadonlyMap<string, Kept>
  /** The events that commands asked of the log. */
  pasts: ReadonlyMap<QueuedCommand, Past>
  /** Why commands are rejected before their rule is asked. */
  rejected: ReadonlyMap<QueuedCommand, Refusal>
  /** The commands still to be decided: not those that are already committed. */
  batch: QueuedCommand[]
}

const noneKept: Prepared['kept'] = new Map()
const noPasts: Prepared['pasts'] = new Map()
const noneRejected: Prepared['rejected'] = new Map()

/** The batch with the states in memory; undefined when something must be loaded first. */
export function warm(holders: Holder[], batch: QueuedCommand[]): Prepared | undefined {
  const states: State[] = []
  for (const { state } of holders) {
    if (!state) return undefined
    states.push(state)
  }
  for (const command of batch) if (!isReady(states, command)) return undefined
  return { states, kept: noneKept, pasts: noPasts, rejected: noneRejected, batch }
}

function isReady(states: State[], command: QueuedCommand): boolean {
  if (keyToFind(states, command) || mayBeCommitted(states, command)) return false
  for (const state of states) if (!state.knowsAll(command.needs)) return false
  return true
}

/** The key whose reply must be looked up: the command's own key only when the command may be in the log. */
export const keyToFind = (states: State[], command: QueuedCommand): Guard | undefined =>
  command.guard && isOwn(command.guard) && !isSuspect(states, command) ? undefined : command.guard

/** Whether the log must be searched for the command. A command whose reply is kept is looked up by its key instead. */
export const mayBeCommitted = (states: State[], command: QueuedCommand): boolean =>
  command.isRecallable && isSuspect(states, command)

/**
 * A committed command is either older than the latest event found when the state was loaded, or came of this very state:
 * then only a retried command is decided twice.
 */
export const isSuspect = (states: State[], command: QueuedCommand): boolean =>
  command.again === true || mayBeIn(logOf(states, command), command.id)

/** Where a log is ahead of the clock, ids do not tell: a command that was made after it was loaded is not in it. */
const mayBeIn = ({ loaded }: State, id: string): boolean =>
  loaded.eventId >= id && !(isMadeAfter(id, loaded.at) && isAhead(loaded.eventId))

/** The state of the project that gets the command's first event: the target of a move. */
export function logOf(states: State[], { projectId, otherProjectId = projectId }: QueuedCommand): State {
  if (states.length === 1) return states[0]!
  return states.find((state) => state.projectId === otherProjectId)!
}
