import { Type } from '@sinclair/typebox'
import type { RuleContext } from '../../src/commands/command.ts'
import { view } from '../../src/model/view.ts'
import type { EventDraft } from '../../src/model/events.ts'
import { taskIdOf } from '../../src/log/rows.ts'
import type { UndoInput } from '../../src/log/undo-input.ts'
import { jsonTexts } from '../../src/reads/pages.ts'
import { eventView } from '../events/schema.ts'
import type { ReadEvent } from '../events/views.ts'

export interface Undone {
  version: number
  changes: ReadEvent[]
}

/** The most bytes of events in a response. A single longer event is shown in full. */
const maxResponseBytes = 500_000

export const undoneView = view<Undone>({
  name: 'Undone',
  schema: Type.Object({
    version: Type.Integer({
      minimum: 1,
      description: "The project's version after the undo; for a dry run, the current version",
      examples: [42],
    }),
    changes: Type.Array(eventView.schema, {
      description: `The events of the undo, in order; only the first events if all together have more than ${maxResponseBytes} bytes`,
    }),
  }),
  of({ version, changes }) {
    const { length } = jsonTexts(changes, eventView.of, maxResponseBytes)
    return { version, changes: changes.slice(0, length).map((one) => eventView.of(one)) }
  },
  hasNoEtag: true,
})

/** Returns the events as the feed will show them. @param version the project's version before the undo */
export function eventsOf(
  all: EventDraft[],
  version: number,
  { caller, now, person }: RuleContext,
  { people }: UndoInput,
) {
  const batch = all.length > 1 ? version + 1 : null
  const namedPeople = person ? new Map([...people, [person.id, person]]) : people
  return all.map((change, n): ReadEvent => {
    const at = { seq: version + 1 + n, batch, actorId: caller.userId, at: now }
    return { ...change, ...at, taskId: taskIdOf(change), people: namedPeople }
  })
}
