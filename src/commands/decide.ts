import type { Decision } from '../facts/facts.ts'
import type { ProjectState } from '../actor/state.ts'
import type { Caller } from '../identity/caller.ts'
import { requireRole } from '../identity/roles.ts'
import { notFound } from '../wire/refusals.ts'
import type { Command, Known } from './command.ts'

export const nouns = { project: 'Project', task: 'Task', subtask: 'Subtask', comment: 'Comment' }

/**
 * What comes of a command in a project: its rule's facts and answer. Pure.
 * @throws Refusal 404 for who may not see what it runs at, 403 for who may not do it, and what the rule refuses
 */
export function decide<Input extends object, Row>(
  command: Command<Input, Row>,
  state: ProjectState,
  known: Known,
  input: Input,
  other: ProjectState = state,
): Decision<Row> {
  admit(command, state, known.caller, input)
  return command.decide(state, known, input, other)
}

function admit({ at, least }: Command, state: ProjectState, { userId }: Caller, input: object): void {
  if (at.kind === 'new' || least === 'nobody') return
  const role = state.roleOf(userId)
  const isHere = at.kind === 'project' || taskOf(state, at.kind, idIn(input, at.key)) === state.projectId
  if (!isHere) throw notFound(nouns[at.kind])
  requireRole(role, least, nouns[at.kind])
}

/** The project of the task that a thing is or hangs on, as far as this state knows. */
function taskOf(state: ProjectState, kind: 'task' | 'subtask' | 'comment', id: string): string | undefined {
  const taskId = kind === 'task' ? id : state.row(kind, id)?.taskId
  return taskId === undefined ? undefined : state.row('task', taskId)?.projectId
}

/** The id in a field of a command's input. */
export const idIn = (input: object, key: string): string => String((input as Record<string, unknown>)[key])
