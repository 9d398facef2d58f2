import { blockers, dependents, externalIds } from '../../modules/tasks/blockers.ts'
import { State } from '../../src/actor/state.ts'
import { movingChildren } from '../../modules/tasks/move.ts'
import type { Command, RuleContext } from '../../src/commands/command.ts'
import type { Fact } from '../../src/model/definition.ts'
import { decide } from '../../src/commands/decide.ts'
import { HttpError } from '../../src/responses/errors.ts'

/** The time of commands, and the earlier time at which projects were created. */
export const now = '2030-06-07T08:09:10.111Z'
export const start = '2030-01-01T00:00:00.000Z'

interface Options extends Partial<RuleContext> {
  by?: string
  at?: string
  /** The project to which a task moves. */
  to?: State
}

let ids = 0
export const nextId = () => `00000000-0000-7000-8000-${String(++ids).padStart(12, '0')}`

/** Opens a project in memory. The accounts `owner`, `admin`, `editor` and `viewer` have these roles. */
export function openProject(kinds: object[] = [blockers, dependents, externalIds]) {
  const id = nextId()
  const state = new State(id)
  for (const kind of kinds as (typeof blockers)[]) state.facts.set(kind as never, kind.create())
  const of = { projectId: id, createdAt: start, eventId: id }
  state.put('project', id, { ...of, id, ownerId: 'owner', name: 'Engine', description: null } as never)
  for (const userId of ['admin', 'editor', 'viewer'])
    state.put('member', userId, { ...of, id: userId, userId, role: userId.toUpperCase() } as never)

  function decideOn<Input extends object, Row>(command: Command<Input, Row>, input: Input, options: Options) {
    const { by = 'editor', at = now, to = state, ...others } = options
    const children = { subtask: state.all('subtask'), comment: state.all('comment') }
    state.facts.set(movingChildren as never, { children } as Fact)
    const limits = { projectMembers: 10, projectWebhooks: 100 }
    const known = { caller: { userId: by }, now: at, newId: nextId, newEventId: nextId, limits }
    return decide(command, state, { ...known, ...others }, input, to)
  }

  /** Runs a command, and applies its events. Rows are frozen, so that a rule that mutates a row fails. */
  function run<Input extends object, Row>(command: Command<Input, Row>, input: Input, options: Options = {}) {
    const decision = decideOn(command, input, options)
    for (const change of decision.changes) {
      Object.freeze(change.after)
      const changed = change.projectId === id ? state : (options.to ?? state)
      changed.apply(change)
    }
    return decision
  }
  return { id, state, run, decideOn }
}

/** Returns the status and the message of the error that a rule throws. */
export function errorOf(decide: () => unknown): { status: number; message: string } | undefined {
  try {
    decide()
    return undefined
  } catch (error) {
    if (error instanceof HttpError) return { status: error.status, message: error.message }
    throw error
  }
}
