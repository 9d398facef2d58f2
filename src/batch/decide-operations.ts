import { evolve } from '../actor/state.ts'
import type { ProjectState } from '../actor/state.ts'
import type { RuleContext } from '../commands/command.ts'
import { mapIds } from '../schema/input.ts'
import { decide } from '../commands/decide.ts'
import type { Person } from '../reads/people.ts'
import { type EventDraft, isSame } from '../model/events.ts'
import { visible } from '../model/references.ts'
import { conflict } from '../responses/errors.ts'
import { inTurn, requireNotBack } from './in-turn.ts'
import { type Kinds, type Operation, subjectOf } from './kinds.ts'
import { isReference } from './read-operations.ts'
import { resultOf } from './results.ts'

/** What an operation was about: `#name` stands for its id. */
interface Named {
  id: string
  person?: Person
}

export const notAsWas = (fields: string[]) => conflict(`Not as in was: ${fields.join(', ')}`)
export const backAgain = () => conflict('Who is removed in a batch cannot be invited again in it')

/** Decides operations one after another, each on what those before it leave. Pure. @throws HttpError the first one's */
export function decideOperations(
  kinds: Kinds,
  state: ProjectState,
  known: RuleContext,
  { operations, whole }: { operations: Operation[]; whole: boolean },
) {
  const trial = state.fork()
  const names = new Map<string, Named>()
  const gone = new Map<string, string>()
  const changes: EventDraft[] = []
  const results = inTurn(operations, ({ op, as, was, ifMatch, ...given }, n) => {
    const kind = kinds.get(op)!
    const input = { ...given }
    const idOf = (id: string) => (isReference(id) ? namedBy(names, id)?.id : id)
    for (const key of kind.ids) if (input[key]) input[key] = mapIds(input[key], idOf)
    const subject = subjectOf(kind, input)
    const person = known.found?.people[n] ?? namedBy(names, subjectOf(kind, given))?.person
    const before =
      subject === undefined ? undefined : visible(trial, kind.noun, trial.row(kind.noun, subject))
    const decision = decide(kind.command, trial, knownTo(known, person, ifMatch), input)
    requireAsWas(before, was)
    requireNotBack(gone, decision.changes, backAgain)
    for (const change of decision.changes) evolve(trial, change)
    changes.push(...decision.changes)
    const id = (decision.answer as { id: string } | undefined)?.id ?? subject!
    if (as !== undefined) names.set(as, { id, person })
    return resultOf(kind.command, id, decision.answer, person, whole)
  })
  return { changes, results, version: trial.version }
}

/** Written out, because the methods of `known` are not its own. */
const knownTo = (known: RuleContext, person?: Person, ifMatch?: string): RuleContext => ({
  caller: known.caller,
  now: known.now,
  newId: () => known.newId(),
  newEventId: () => known.newEventId(),
  past: known.past,
  claimed: known.claimed,
  found: known.found,
  limits: known.limits,
  person,
  ifMatch,
})

const namedBy = (names: ReadonlyMap<string, Named>, reference: unknown): Named | undefined =>
  isReference(reference) ? names.get(reference.slice(1)) : undefined

/** Conflicts by field: what others changed meanwhile does no harm where nobody compares it. @throws HttpError 409 */
function requireAsWas(row: object | undefined, was: Record<string, unknown> = {}): void {
  const now = (row ?? {}) as Record<string, unknown>
  const others = Object.keys(was).filter((name) => !isSame(now[name], was[name]))
  if (others.length > 0) throw notAsWas(others)
}
