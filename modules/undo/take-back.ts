import { evolve } from '../../src/actor/state.ts'
import { mapInOrder, rejectReinvited } from '../../src/batch/map-in-order.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import type { EventDraft } from '../../src/model/events.ts'
import type { EventType } from '../../src/model/entities.ts'
import type { LoggedEvent } from '../../src/log/past.ts'
import type { ProjectCaller } from '../../src/identity/rights.ts'
import { undoRuleOf } from '../../src/model/model.ts'
import { Overtaken } from '../../src/log/overtaken.ts'
import { conflict } from '../../src/responses/errors.ts'
import { comeBack } from './come-back.ts'
import { invert, type Undoing } from './invert.ts'
import { strangersTasks } from './strangers.ts'

export const notAtOnce = () =>
  conflict('Who is removed does not come back as another member in one undo: undo one, and then the other')

/** Decides what takes events back, the latest first, each on what those before it leave. Pure. @throws HttpError */
export function takeBack(state: ProjectState, known: RuleContext, past: Undoing['past']): EventDraft[] {
  const { events } = past
  const trial = state.fork()
  const undoing = { trial, known, past }
  const { caller } = known
  const by = authorizeUndo({ caller, role: state.roleOf(caller.userId) }, events)
  const changes: EventDraft[] = []
  const put = (seq: number, change: EventDraft) => {
    evolve(trial, change)
    changes.push({ ...change, undoes: seq })
  }
  eachOf(events, (event) => {
    const { seq } = event
    if (event.after) put(seq, invert(by.get(seq)!, event, undoing))
    else for (const [of, change] of comeBack(by.get(seq)!, event, undoing)) put(of, change)
  })
  rejectReinvited(new Map(), changes, notAtOnce)
  for (const [of, change] of strangersTasks(changes, undoing)) put(of, change)
  return changes
}

/**
 * Checks that the caller may undo each of the events, and returns the types of their inverses by seq. Takes no more than the
 * events, so that it comes before anything else is loaded.
 * @throws HttpError 403, 409
 */
export function authorizeUndo(asking: ProjectCaller, events: LoggedEvent[]): Map<number, EventType> {
  return new Map(
    eachOf(events, (event) => {
      const inverse = undoRuleOf(event.type)
      if (typeof inverse === 'function') throw inverse()
      inverse.admit(asking, event)
      return [event.seq, `${event.entity}.${inverse.by}` as EventType] as const
    }),
  )
}

/** Works on one event after another. Of several events, prefixes an error with the event's seq. */
const eachOf = <R>(events: LoggedEvent[], work: (event: LoggedEvent) => R): R[] =>
  mapInOrder(events, work, (n, error) =>
    events.length === 1 || error instanceof Overtaken ? undefined : `Seq ${events[n]!.seq}`,
  )
