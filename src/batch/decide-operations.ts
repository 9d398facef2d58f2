import { evolve } from '../actor/state.ts'
import type { ProjectState } from '../actor/state.ts'
import type { RuleContext } from '../commands/command.ts'
import { mapIds } from '../schema/input.ts'
import { decide, shownRow } from '../commands/decide.ts'
import { personIn } from '../commands/execution.ts'
import type { Person } from '../reads/people.ts'
import { type EventDraft, isEqual } from '../model/events.ts'
import { definitionOf } from '../model/model.ts'
import { conflict } from '../responses/errors.ts'
import { mapInOrder, rejectReinvited } from './map-in-order.ts'
import { type OperationTypes, type Operation, subjectOf } from './operation-types.ts'
import { isReference } from './read-operations.ts'
import { resultOf } from './results.ts'

interface NamedRow {
  id: string
  person?: Person
}

export const wasConflict = (fields: string[]) =>
  conflict(`The resource differs from "was" in: ${fields.join(', ')}`, { code: 'was-differs' })
export const reinvited = () =>
  conflict('A member removed in a batch cannot be invited again in the same batch')

/** Decides each operation on the state after the previous operations. Pure. @throws HttpError of the first rejection */
export function decideOperations(
  kinds: OperationTypes,
  state: ProjectState,
  context: RuleContext,
  { operations, isFull }: { operations: Operation[]; isFull: boolean },
) {
  const trial = state.fork()
  const names = new Map<string, NamedRow>()
  const removedMembers = new Map<string, string>()
  const changes: EventDraft[] = []
  const results = mapInOrder(operations, ({ op, as, was, ifMatch, ...rawInput }, n) => {
    const kind = kinds.get(op)!
    const input = { ...rawInput }
    const idOf = (id: string) => (isReference(id) ? rowNamed(names, id)?.id : id)
    for (const key of kind.idFields) if (input[key]) input[key] = mapIds(input[key], idOf)
    const subject = subjectOf(kind, input)
    const person = context.lookupResults?.people[n] ?? rowNamed(names, subjectOf(kind, rawInput))?.person
    const before = subject === undefined ? undefined : trial.row(kind.noun, subject)
    const shown = shownRow(trial, kind.noun, before, context.now)
    const decision = decide(kind.command, trial, contextOf(context, person, ifMatch), input)
    if (kind.command.emptyReply && decision.answer === undefined) throw conflict(kind.command.emptyReply)
    const shownBy = personIn(trial, shown, person)
    if (was) requireWas(shown && definitionOf(kind.noun).view.of(shown as never, shownBy), was)
    rejectReinvited(removedMembers, decision.changes, reinvited)
    for (const change of decision.changes) evolve(trial, change)
    changes.push(...decision.changes)
    const id = (decision.answer as { id: string } | undefined)?.id ?? subject!
    if (as !== undefined) names.set(as, { id, person })
    return resultOf(kind.command, id, decision.answer, personIn(trial, decision.answer, person), isFull)
  })
  return { changes, results, version: trial.version }
}

/** Lists the fields, because a spread would lose the methods of the class. */
const contextOf = (context: RuleContext, person?: Person, ifMatch?: string): RuleContext => ({
  caller: context.caller,
  now: context.now,
  newId: () => context.newId(),
  newEventId: () => context.newEventId(),
  undo: context.undo,
  claimedIds: context.claimedIds,
  lookupResults: context.lookupResults,
  limits: context.limits,
  person,
  ifMatch,
})

const rowNamed = (names: ReadonlyMap<string, NamedRow>, reference: unknown): NamedRow | undefined =>
  isReference(reference) ? names.get(reference.slice(1)) : undefined

/** Compares only the fields in `was`, so changes of other fields cause no conflict. */
function requireWas(row: object | undefined, was: Record<string, unknown>): void {
  const now = (row ?? {}) as Record<string, unknown>
  const differing = Object.keys(was).filter((name) => !isEqual(now[name], was[name]))
  if (differing.length > 0) throw wasConflict(differing)
}
