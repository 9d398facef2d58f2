import type { ProjectState } from '../../../src/actor/state.ts'
import type { Command, RuleContext } from '../../../src/commands/command.ts'
import { decide } from '../../../src/commands/decide.ts'
import type { EventDraft } from '../../../src/model/events.ts'
import { parseInstant } from '../../../src/schema/text.ts'
import type { ImportResult } from './operations.ts'

export interface Decided extends ImportResult {
  changes?: EventDraft[]
}

export const unchanged = (id: string): Decided => ({ outcome: 'unchanged', id })
export const creationOf = (id: string, change: object): Decided => ({
  outcome: 'created',
  id,
  changes: [change as EventDraft],
})

export function update<Input extends { id: string }, Row>(
  state: ProjectState,
  context: RuleContext,
  command: Command<Input, Row>,
  input: Input,
): Decided {
  const { changes } = decide(command, state, context, input)
  return changes.length > 0 ? { outcome: 'updated', id: input.id, changes } : unchanged(input.id)
}

interface Origin {
  createdAt?: string
  importedAuthor?: string | null
}

/** Returns the time and the author of the row in its source. */
export function originOf({ createdAt, importedAuthor }: Origin, { now }: RuleContext) {
  const at = (createdAt && parseInstant(createdAt)) || now
  return { createdAt: at, ...(importedAuthor && { importedAuthor: importedAuthor.trim() }) }
}

/** Returns the event of a new row, with its time and author in the source. */
export function withOrigin(
  { changes }: { changes: EventDraft[] },
  origin: Origin,
  context: RuleContext,
): EventDraft {
  const [change] = changes
  Object.assign(change!.after!, originOf(origin, context))
  return change!
}
