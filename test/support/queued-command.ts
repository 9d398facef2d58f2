import type { QueuedCommand } from '../../src/actor/decide-group.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { newId } from '../kit.ts'
import { type Clock } from '../../src/ids.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import type { Decision } from '../../src/model/events.ts'

export type Context = Omit<RuleContext, 'limits'>

interface Given<T> extends Partial<Omit<QueuedCommand<T>, 'decide'>> {
  projectId: string
  decide(state: ProjectState, context: Context): Decision<T>
}

/** Creates a command for an actor. The command is never searched for in the log. */
export function queuedCommand<T>(userId: string, { decide, ...given }: Given<T>): QueuedCommand<T> {
  return {
    id: newId(),
    caller: { userId },
    decide(this: QueuedCommand, clock: Clock, state: ProjectState) {
      return decide(state, contextOf(this, clock))
    },
    deadline: distantDeadline(),
    isRecallable: true,
    since: 0,
    recall() {
      throw new Error('This reply was not lost')
    },
    resolve() {},
    reject() {},
    ...given,
  } as QueuedCommand<T>
}

function contextOf({ id, caller, undo: past }: QueuedCommand, clock: Clock): Context {
  let hasEvents = false
  return {
    ...{ caller, undo: past, now: clock.now, newId: () => clock.newId() },
    newEventId() {
      if (hasEvents) return clock.newId()
      hasEvents = true
      return clock.firstIdOf(id)
    },
  }
}

/** A deadline that no test reaches. */
export const distantDeadline = () => performance.now() + 15_000
