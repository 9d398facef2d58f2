import { dependents } from '../../modules/tasks/blockers.ts'
import type { EventDraft } from '../../src/model/events.ts'
import type { Decision } from '../../src/log/rule.ts'
import { fold, emptyContents } from '../support/fold.ts'
import { applyEvent, type ProjectState, State } from '../../src/actor/state.ts'
import type { Command, RuleContext } from '../../src/commands/command.ts'
import { decide } from '../../src/commands/decide.ts'
import { HttpError } from '../../src/responses/errors.ts'
import { busy, projectId } from './events.ts'

export const now = '2030-06-07T08:09:10.111Z'

type Rule<T> = (state: ProjectState, known: RuleContext, other?: ProjectState) => Decision<T>

export const ruleOf =
  <Input extends object, Row>(command: Command<Input, Row>, input: Input): Rule<Row> =>
  (state, known, other) =>
    decide(command, state, known, input, other)

export function contextOf(userId: string): RuleContext {
  let ids = 0
  const newId = () => `new-${++ids}`
  const limits = { projectMembers: 10, projectWebhooks: 100 }
  return { caller: { userId }, now, newId, newEventId: newId, limits }
}

export function folded(events: EventDraft[], id = projectId): State {
  const state = new State(id)
  state.facts.set(dependents as never, dependents.create(id))
  return events.reduce(applyEvent, state)
}

function withLoadedChildren(events: EventDraft[]): State {
  const state = folded(events)
  const { subtask, comment } = events.reduce(fold, emptyContents())
  state.movingChildren = { subtask: [...subtask.values()], comment: [...comment.values()] }
  return state
}

/** Runs a rule on given events of a project and, for a move, of the target project. `then` checks the new events. */
export function when<T>(
  caller: string,
  rule: Rule<T>,
  events: EventDraft[] = busy,
  others: EventDraft[] = [],
) {
  const state = withLoadedChildren(events)
  const other = others.length ? folded(others, others[0]!.projectId) : state
  const decide = (known = {}) => rule(state, { ...contextOf(caller), ...known }, other)
  return {
    decide,
    then(...changes: EventDraft[]) {
      expect(decide().changes).toStrictEqual(changes)
    },
    thenNoEvents(answer?: T) {
      expect(decide()).toStrictEqual({ changes: [], answer: answer as T })
    },
    thenRejected(status: number, message: string) {
      expect(errorOf(decide)).toEqual({ status, message })
    },
  }
}

export function errorOf(decide: () => unknown): { status: number; message: string } | undefined {
  try {
    decide()
    return undefined
  } catch (error) {
    if (error instanceof HttpError) return { status: error.status, message: error.message }
    throw error
  }
}
