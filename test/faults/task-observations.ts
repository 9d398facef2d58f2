import type { ListObservation } from './check-lists.ts'
import { viewOf } from './expected-events.ts'
import type { LogEvent } from './evidence.ts'
import { label, type Operation, outcomeOf } from './history.ts'
import type { VersionRange } from './state-ranges.ts'

/** A read, and the versions whose state it returned. */
export interface Observation {
  read: Operation
  range: VersionRange
}

export type EventIndex = ReturnType<typeof indexEvents>

/** Finds the event of an ETag, and the next event of the same row. */
export function indexEvents(events: LogEvent[]) {
  const byEtag = new Map(events.map((event) => [`"${event.id}"`, event]))
  const nextOf = new Map<string, LogEvent>()
  for (const event of events) if (event.before) nextOf.set(event.before.eventId, event)
  return {
    at: (etag: string | null | undefined) => byEtag.get(etag ?? ''),
    after: (event: LogEvent | undefined) => nextOf.get(event?.id ?? ''),
  }
}

/** A read whose body differs from the row at its ETag is an error, and no observation. */
export function observationsOfTasks(
  operations: Operation[],
  { at, after }: EventIndex,
): { errors: string[]; observations: Observation[] } {
  const reads = operations.filter((read) => read.kind === 'task.get' && outcomeOf(read) === 'done')
  const errors: string[] = []
  const observations: Observation[] = []
  for (const read of reads) {
    const event = at(read.etag)
    if (!event?.after || event.entityId !== read.about.id)
      errors.push(`${label(read)} has the ETag ${read.etag}`)
    else if (viewOf('task', event.after) !== read.text)
      errors.push(`${label(read)} at ${read.etag} returned ${read.text}`)
    else {
      const { projectId, seq: from } = event
      observations.push({ read, range: { projectId, from, before: after(event)?.seq ?? Infinity } })
    }
  }
  return { errors, observations }
}

/** A list gives two observations: the version in its ETag was the latest, and its rows are of that version or later. */
export const observationsOfLists = (lists: ListObservation[]): Observation[] =>
  lists.flatMap(({ operation: read, version, range }) => [
    { read, range: { projectId: range.projectId, from: version, before: version + 1 } },
    { read, range },
  ])
