import type { Decision } from '../log/rule.ts'
import type { ProjectState } from '../actor/state.ts'
import {
  type Caller,
  type ProjectRoles,
  reaches,
  requireRole,
  requireScope,
  requireUnbound,
  roleIn,
} from '../identity/rights.ts'
import type { Entity } from '../model/entities.ts'
import { definitionOf, model } from '../model/model.ts'
import { visible, withReferences } from '../model/references.ts'
import { idTaken, notFound } from '../responses/errors.ts'
import type { Command, Declared, RuleContext } from './command.ts'

export const nounAt = (at: Exclude<Command['target'], { kind: 'new' }>): string => definitionOf(at.kind).noun

/**
 * What comes of a command in a project: its rule's facts and answer. Pure.
 * @throws HttpError 404 for who may not see what it runs at, 403 for who, or whose token, may not do it, and what the rule refuses
 */
export function decide<Input extends object, Row>(
  command: Command<Input, Row>,
  state: ProjectState,
  known: RuleContext,
  input: Input,
  other: ProjectState = state,
): Decision<Row> {
  requireHere(command, state, input)
  authorize(command, state, known.caller, input, other)
  const entity = command.noun as Entity
  if (!model().references[entity]) return command.decide(state, known, input, other)
  const decision = command.decide(state, known, withReferences(other, entity, input), other)
  decision.answer = visible(other, entity, decision.answer)
  return decision
}

/** The project beside its own that a command writes: the one that a task moves to. */
export function otherProject(command: Declared, projectId: string, input: object): string | undefined {
  const otherId = command.destination?.(input)
  return otherId === projectId ? undefined : otherId
}

/** False for what makes a project, and for the service's own work. */
export const takesRole = ({ target: at, role }: Declared): boolean => at.kind !== 'new' && role !== 'nobody'

/**
 * Checks role and scope in the project that a command runs in, and in the one that it moves something to. Takes no more than
 * the roles of both, so that it comes before anything is looked up, loaded or locked.
 * @throws HttpError 404 for a stranger, 403
 */
export function authorize(
  command: Declared,
  roles: ProjectRoles,
  caller: Caller,
  input: object,
  other = roles,
): void {
  const { target, role: minimum, scope } = command
  if (target.kind === 'new') requireUnbound(caller)
  if (target.kind === 'new' || target.kind === 'account' || minimum === 'nobody')
    return requireScope(caller, scope)
  const role = reaches(caller, roles.projectId) ? roles.roleOf(caller.userId) : null
  requireRole(role, minimum, nounAt(target))
  requireScope(caller, scope)
  command.authorize?.({ caller, role, memberId: roles.memberOf?.(caller.userId)?.id }, input)
  if (other !== roles) requireRole(roleIn(other, caller), minimum, 'Project')
}

/** @throws HttpError 404 for a thing that is not in this project */
function requireHere({ target: at }: Command, state: ProjectState, input: object): void {
  if (at.kind === 'new' || at.kind === 'project') return
  if (projectOf(state, at.kind, idIn(input, at.key)) !== state.projectId) throw notFound(nounAt(at))
}

/** The project of a row, or of the task that it belongs to, as far as this state knows. */
function projectOf(state: ProjectState, entity: Entity, id: string): string | undefined {
  const row = state.row(entity, id) as { taskId?: string; projectId?: string } | undefined
  if (!row || definitionOf(entity).parent !== 'task') return row?.projectId
  return state.row('task', row.taskId!)?.projectId
}

export const ownIdIn = ({ takesOwnId }: Command<never>, input: object): string | undefined =>
  takesOwnId ? (input as { id?: string }).id : undefined

/** The id of what is created: the client's own, if nothing has it, else a new one. @throws HttpError 409 */
export function idFor(state: ProjectState, known: RuleContext, own?: string): string {
  if (own === undefined) return known.newId()
  if (state.has(own) || isTaken(known, own)) throw idTaken()
  return own
}

/** Whether something in another project has an id, or had it. */
const isTaken = ({ found, claimed }: RuleContext, id: string): boolean =>
  found?.taken.includes(id) === true || claimed?.includes(id) === true

export const idIn = (input: object, key: string): string => String((input as Record<string, unknown>)[key])
