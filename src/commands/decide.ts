import { type Decision, type EventDraft, isEqual } from '../model/events.ts'
import type { ProjectState } from '../actor/state.ts'
import {
  type Caller,
  type ProjectRoles,
  requireRole,
  requireScope,
  requireUnbound,
  roleIn,
} from '../identity/rights.ts'
import type { CheckedState, EntityDefinition } from '../model/definition.ts'
import type { Entity } from '../model/entities.ts'
import { definitionOf, isPlainRow } from '../model/model.ts'
import { withoutEndedClaim, requireClaim } from '../model/claims.ts'
import { hideDeletedReferences, checkReferences } from '../model/references.ts'
import { conflict, idTaken, notFound } from '../responses/errors.ts'
import type { Command, WriteDefinition, RuleContext } from './command.ts'

export const targetNoun = (at: Exclude<Command['target'], { kind: 'new' }>): string =>
  definitionOf(at.kind).noun

/** Pure. @throws HttpError 404 if the target is not visible, 403 without the role or scope, and the rule's errors */
export function decide<Input extends object, Row>(
  command: Command<Input, Row>,
  state: ProjectState,
  context: RuleContext,
  input: Input,
  destination: ProjectState = state,
): Decision<Row> {
  requireInProject(command, state, input)
  authorize(command, state, context.caller, input, destination)
  if (context.ifClaim) requireClaim(context.ifClaim, context.now, state, destination)
  const entity = command.noun as Entity
  const checked = checkReferences(destination, entity, input, destination !== state)
  const decision = command.decide(state, context, checked, destination)
  for (const change of decision.changes)
    if (change.entity === entity) checkRow(change.projectId === state.projectId ? state : destination, change)
  const { answer } = decision
  if (answer && !isPlainRow(entity, answer)) {
    const after = stateAfter(destination, decision.changes)
    decision.answer = responseRow(after, entity, answer, context.now)
  }
  return decision
}

/** Returns a row as responses show it: without references to deleted rows, and without a claim that has ended. */
export function responseRow<R>(state: CheckedState, entity: Entity, row: R, now: string): R {
  return hideDeletedReferences(state, entity, withoutEndedClaim(row, now))
}

/**
 * Returns the state after the changes, without a moved task. For a single change, returns the state before the change:
 * the checked row is the changed row, and does not refer to itself.
 */
function stateAfter(state: ProjectState, changes: EventDraft[]): ProjectState {
  if (changes.length < 2) return state
  const after = state.fork()
  for (const change of changes)
    if (change.projectId === state.projectId && change.type !== 'task.moved_in') after.apply(change)
  return after
}

/** @throws HttpError 409 if the row after the event contradicts other rows of the project */
export function checkRow(state: CheckedState, { entity, entityId, before, after }: EventDraft): void {
  const definition = definitionOf(entity)
  const { checks, maxRows } = definition
  if (!after || (!checks && !maxRows)) return
  const row = before ? state.row(entity, entityId) : undefined
  for (const name in checks) {
    const value = after[name as 'id']
    if (value != null && !isEqual(value, row?.[name as 'id']))
      checks[name as 'id']!(after, row as never, state)
  }
  if (maxRows && !row && state.all(entity).length >= maxRows) throw tooManyRows(definition)
}

export const tooManyRows = ({ maxRows, plural }: Pick<EntityDefinition, 'maxRows' | 'plural'>) =>
  conflict(`A project has at most ${maxRows} ${plural}`)

export function destinationOf(command: WriteDefinition, projectId: string, input: object) {
  const otherId = command.destination?.(input)
  return otherId === projectId ? undefined : otherId
}

/** Needs only roles, so the check runs before any look-up, load or lock. @throws HttpError 404 without a role, 403 */
export function authorize(
  command: WriteDefinition,
  roles: ProjectRoles,
  caller: Caller,
  input: object,
  destination = roles,
): void {
  const { target, role: minimum, scope } = command
  if (target.kind === 'new') requireUnbound(caller)
  if (target.kind === 'new' || target.kind === 'account' || minimum === null)
    return requireScope(caller, scope)
  const role = roleIn(roles, caller)
  requireRole(role, minimum, targetNoun(target))
  requireScope(caller, scope)
  command.authorize?.({ caller, role, memberId: roles.memberOf?.(caller.userId)?.id }, input)
  if (destination !== roles) requireRole(roleIn(destination, caller), minimum, 'Project')
}

function requireInProject({ target: at }: Command, state: ProjectState, input: object): void {
  if (at.kind === 'new' || at.kind === 'project') return
  const row = state.row(at.kind, idIn(input, at.key)) as { taskId?: string; projectId?: string } | undefined
  const isOfTask = definitionOf(at.kind).parent === 'task'
  const { projectId } = (isOfTask && row ? state.row('task', row.taskId!) : row) ?? {}
  if (projectId !== state.projectId) throw notFound(targetNoun(at))
}

export const clientIdIn = ({ acceptsClientId }: Command<never>, input: object): string | undefined =>
  acceptsClientId ? (input as { id?: string }).id : undefined

/** The id of a new row: the client's id, or else a generated one. @throws HttpError 409 if the client's id is taken */
export function newRowId(state: ProjectState, context: RuleContext, clientId?: string): string {
  if (clientId === undefined) return context.newId()
  const { lookupResults, claimedIds = [] } = context
  const isTaken = lookupResults?.takenIds.includes(clientId) || claimedIds.includes(clientId)
  if (state.hasId(clientId) || isTaken) throw idTaken()
  return clientId
}

export const idIn = (input: object, key: string): string => String((input as Record<string, unknown>)[key])
