import { Type } from '@sinclair/typebox'
import type { RuleContext } from '../../src/commands/command.ts'
import { view } from '../../src/model/view.ts'
import type { EventDraft } from '../../src/model/events.ts'
import { taskOf } from '../../src/log/rows.ts'
import type { Past } from '../../src/log/past.ts'
import { textsOf } from '../../src/reads/pages.ts'
import { eventView } from '../events/schema.ts'
import type { ReadEvent } from '../events/views.ts'

/** What was undone: the project's version, and the events as far as they are shown. */
export interface Undone {
  version: number
  changes: ReadEvent[]
}

/** The events that an answer shows have so many bytes together, at most, or it is one. */
const shownBytes = 500_000

export const undoneView = view<Undone>({
  name: 'Undone',
  schema: Type.Object({
    version: Type.Integer({
      minimum: 1,
      description: "The project's version from then on; of a dry run, as it is",
      examples: [42],
    }),
    changes: Type.Array(eventView.schema, {
      description: `The events that it made, in order; the first of them where all would be more than ${shownBytes} bytes`,
    }),
  }),
  of({ version, changes }) {
    const { length } = textsOf(changes, eventView.of, shownBytes)
    return { version, changes: changes.slice(0, length).map((one) => eventView.of(one)) }
  },
  hasNoEtag: true,
})

/** As the feed will show them: by somebody, after a version. */
export function shownOf(
  all: EventDraft[],
  version: number,
  { caller, now, person }: RuleContext,
  { people }: Past,
) {
  const batch = all.length > 1 ? version + 1 : null
  const known = person ? new Map([...people, [person.id, person]]) : people
  return all.map((change, n): ReadEvent => {
    const at = { seq: version + 1 + n, batch, actorId: caller.userId, at: now }
    return { ...change, ...at, taskId: taskOf(change), people: known }
  })
}
