import { say } from './check-claims.ts'
import type { SeenList } from './check-lists.ts'
import { viewOf } from './claims.ts'
import type { Fact } from './evidence.ts'
import { type Operation, outcomeOf } from './history.ts'
import type { Span } from './places.ts'

export interface Observation {
  read: Operation
  span: Span
}

export type Chain = ReturnType<typeof chain>

/** The event that an ETag names, and the one that changed the same thing after it. */
export function chain(facts: Fact[]) {
  const byEtag = new Map(facts.map((fact) => [`"${fact.id}"`, fact]))
  const nextOf = new Map<string, Fact>()
  for (const fact of facts) if (fact.before) nextOf.set(fact.before.eventId, fact)
  return {
    at: (etag: string | null | undefined) => byEtag.get(etag ?? ''),
    after: (fact: Fact | undefined) => nextOf.get(fact?.id ?? ''),
  }
}

/** What the reads of tasks saw; one that shows what its ETag does not stand for saw nothing that ever was. */
export function observationsOfTasks(
  operations: Operation[],
  { at, after }: Chain,
): { faults: string[]; observations: Observation[] } {
  const reads = operations.filter((read) => read.kind === 'task.get' && outcomeOf(read) === 'done')
  const faults: string[] = []
  const observations: Observation[] = []
  for (const read of reads) {
    const fact = at(read.etag)
    if (!fact?.after || fact.entityId !== read.about.id) faults.push(`${say(read)} has the ETag ${read.etag}`)
    else if (viewOf('task', fact.after) !== read.text)
      faults.push(`${say(read)} at ${read.etag} shows ${read.text}`)
    else {
      const { projectId, seq: from } = fact
      observations.push({ read, span: { projectId, from, before: after(fact)?.seq ?? Infinity } })
    }
  }
  return { faults, observations }
}

/** A list tells twice: by its ETag which version was the latest, and by its rows how things stood then or after. */
export const observationsOfLists = (lists: SeenList[]): Observation[] =>
  lists.flatMap(({ operation: read, version, looks }) => [
    { read, span: { projectId: looks.projectId, from: version, before: version + 1 } },
    { read, span: looks },
  ])
