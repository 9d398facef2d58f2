import type { ListObservation } from './check-lists.ts'
import { viewOf } from './expected-events.ts'
import type { LogEvent } from './evidence.ts'
import { label, type Operation, outcomeOf } from './history.ts'
import type { VersionRange } from './state-ranges.ts'

/** A read, and the versions at which the returned row or list was current. */
export interface Observation {
  read: Operation
  range: VersionRange
}

export type EventIndex = ReturnType<typeof indexEvents>

export function indexEvents(events: LogEvent[]) {
  const byEtag = new Map(events.map((event) => [`"${event.id}"`, event]))
  const nextOf = new Map<string, LogEvent>()
  for (const event of events) if (event.before) nextOf.set(event.before.eventId, event)
  return {
    at: (etag: string | null | undefined) => byEtag.get(etag ?? ''),
    after: (event: LogEvent | undefined) => nextOf.get(event?.id ?? ''),
  }
}

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
      errors.push(`${label(read)} returned the ETag ${read.etag} of no event of this task`)
    else if (viewOf('task', event.after) !== read.text)
      errors.push(`${label(read)} with ETag ${read.etag} returned ${read.text}`)
    else {
      const { projectId, seq: from } = event
      observations.push({ read, range: { projectId, from, before: after(event)?.seq ?? Infinity } })
    }
  }
  return { errors, observations }
}

/** A list gives two observations: the version in its ETag was the latest, and so was the version of its rows. */
export const observationsOfLists = (lists: ListObservation[]): Observation[] =>
  lists.flatMap(({ operation: read, version, range }) => [
    { read, range: { projectId: range.projectId, from: version, before: version + 1 } },
    { read, range },
  ])
