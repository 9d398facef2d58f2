import { evolve } from '../../src/actor/state.ts'
import { checkRow } from '../../src/commands/decide.ts'
import { mapInOrder, rejectReinvited } from '../../src/batch/map-in-order.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import type { EventDraft } from '../../src/model/events.ts'
import type { EventType } from '../../src/model/entities.ts'
import type { LoggedEvent, UndoContext } from '../../src/log/undo-input.ts'
import type { ProjectCaller } from '../../src/identity/rights.ts'
import { undoRuleOf } from '../../src/model/model.ts'
import { UndoConflict } from '../../src/log/undo-limits.ts'
import { conflict } from '../../src/responses/errors.ts'
import { restore } from './restore.ts'
import { invert, type UndoState } from './invert.ts'
import { unassignNonMembers } from './assignees.ts'

const memberReplaced = () =>
  conflict(
    'One undo cannot both remove a user from the project and add the user again: undo the events one after another',
  )

/** Decides the inverse events, for the latest event first, and applies each before it decides the next. */
export function decideUndo(state: ProjectState, context: RuleContext, undo: UndoContext): EventDraft[] {
  const { events } = undo
  const fork = state.fork()
  const run: UndoState = { state: fork, context, undo, restoredKeys: new Map() }
  const { caller } = context
  const types = authorizeUndo({ caller, role: state.roleOf(caller.userId) }, events)
  const changes: EventDraft[] = []
  const apply = (seq: number, change: EventDraft) => {
    checkRow(fork, change)
    evolve(fork, change)
    changes.push({ ...change, undoes: seq })
  }
  forEachEvent(events, (event) => {
    const { seq } = event
    if (event.after) apply(seq, invert(types.get(seq)!, event, run))
    else for (const [of, change] of restore(types.get(seq)!, event, run)) apply(of, change)
  })
  rejectReinvited(new Map(), changes, memberReplaced)
  for (const [of, change] of unassignNonMembers(changes, run)) apply(of, change)
  return changes
}

/** Returns the types of the inverse events by seq. Needs only the events, so it can run before other data is loaded. */
export function authorizeUndo(asking: ProjectCaller, events: LoggedEvent[]): Map<number, EventType> {
  return new Map(
    forEachEvent(events, (event) => {
      const inverse = undoRuleOf(event.type)
      if (typeof inverse === 'function') throw inverse()
      inverse.admit(asking, event)
      return [event.seq, `${event.entity}.${inverse.by}` as EventType] as const
    }),
  )
}

const forEachEvent = <R>(events: LoggedEvent[], handle: (event: LoggedEvent) => R): R[] =>
  mapInOrder(events, handle, (n, error) =>
    events.length === 1 || error instanceof UndoConflict ? undefined : `Seq ${events[n]!.seq}`,
  )
