import { inverseOf, isDry, type Undo } from './undoing.ts'
import { type Evidence, type Fact, type KeptAnswer, shownFact } from './evidence.ts'
import type { Operation } from './history.ts'

interface Undone {
  version: number
  changes: { id: string; seq: number; type: string; undoes: number }[]
}

/** The events that an undo which took effect made: those of its answer, or in words what is wrong about them. */
export function eventsOfUndo(
  operation: Operation,
  kept: KeptAnswer,
  byEtag: ReadonlyMap<string, Fact>,
  people: Evidence['people'],
): Fact[] | string {
  const { about, callerId, status, text } = operation
  if (status === 200 && text !== kept.body) return `was answered ${text}, and ${kept.body} is kept`
  const { version, changes } = JSON.parse(kept.body) as Undone
  const facts = changes.map(({ id }) => byEtag.get(`"${id}"`))
  if (isDry(operation)) {
    if (facts.some(Boolean)) return 'was a dry run, and took effect'
    return changes.every(({ seq }, i) => seq === version + 1 + i) ? [] : 'says other seqs than the next'
  }
  const [first] = facts
  if (!first || changes.length === 0) return 'is not in the history'
  const batch = facts.length > 1 ? first.seq : null
  for (const [i, fact] of facts.entries()) {
    if (!fact) return `made ${JSON.stringify(changes[i])}, which is not in the history`
    if (fact.seq !== first.seq + i || fact.projectId !== about.projectId) return 'is not in one piece'
    if (fact.batch !== batch) return `made an event of the batch ${fact.batch}`
    if (fact.actorId !== callerId) return `made what ${fact.actorId} did`
    if (shownFact(fact, people) !== JSON.stringify(changes[i]))
      return `was answered ${JSON.stringify(changes[i])}, the history has ${shownFact(fact, people)}`
  }
  return facts.at(-1)!.seq === version ? (facts as Fact[]) : `says that the version is ${version}`
}

/** What of a dry run is not as an undo of what it names would be, in words. */
export function faultOfDryRun({ body, text }: Operation, history: Fact[]): string | undefined {
  const { changes } = JSON.parse(text) as Undone
  const asked = new Set(seqsOf(body as Undo, history))
  const missing = [...asked].filter((seq) => !changes.some(({ undoes }) => undoes === seq))
  const isRight = ({ type, undoes }: Undone['changes'][number]) => {
    const target = history[undoes - 1]
    return target && (inverseOf[target.type] === type || target.type === 'task.deleted')
  }
  const wrong = changes.find((change) => !isRight(change))
  if (wrong) return `would take back otherwise: ${JSON.stringify(wrong)}`
  const isCompany = (seq: number) => history[seq - 1]?.undoes != null && !history[seq - 1]?.before
  const left = missing.filter((seq) => !isCompany(seq))
  return left.length > 0 ? `would leave ${left.join(', ')}` : undefined
}

export function seqsOf({ seq, seqs, batch }: Undo, history: Fact[]): number[] {
  if (batch === undefined) return seqs ?? [seq!]
  return history.filter((fact) => fact.batch === batch).map((fact) => fact.seq)
}
