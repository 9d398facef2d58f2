import type { Fact, KeptAnswer } from './evidence.ts'
import type { Operation } from './history.ts'

const types: Record<string, string> = {
  'task.create': 'task.created',
  'task.update': 'task.updated',
  'subtask.create': 'subtask.created',
  'comment.create': 'comment.created',
}

interface Results {
  results: { etag: string }[]
}

/** The events that a batch which took effect made: one for each operation, or in words what is wrong about them. */
export function eventsOfBatch(
  { body, callerId, text, status }: Operation,
  kept: KeptAnswer,
  byEtag: ReadonlyMap<string, Fact>,
): Fact[] | string {
  if (status === 200 && text !== kept.body) return `was answered ${text}, and ${kept.body} is kept`
  const { results } = JSON.parse(kept.body) as Results
  const facts = results.map(({ etag }) => byEtag.get(etag))
  const [first] = facts
  const operations = body!.operations as Record<string, unknown>[]
  if (!first || results.length !== operations.length) return 'is not in the history'
  for (const [i, fact] of facts.entries()) {
    const { op = '', ...fields } = operations[i]!
    if (!fact || fact.type !== types[op as string]) return `did not make what its operation ${i} says`
    if (fact.seq !== first.seq + i || fact.projectId !== first.projectId) return 'is not in one piece'
    if (fact.batch !== first.seq) return `made an event of the batch ${fact.batch}`
    if (fact.actorId !== callerId) return `made what ${fact.actorId} did`
    const differs = ['title', 'text', 'status'].some(
      (name) => name in fields && fact.after?.[name] !== fields[name],
    )
    if (differs) return `left ${JSON.stringify(fact.after)}`
  }
  return facts as Fact[]
}
