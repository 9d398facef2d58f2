import type { LogEvent, StoredResponse } from './evidence.ts'
import type { Operation } from './history.ts'

const types: Record<string, string> = {
  'task.create': 'task.created',
  'task.update': 'task.updated',
  'subtask.create': 'subtask.created',
  'comment.create': 'comment.created',
}

type InBatch = Pick<LogEvent, 'seq' | 'projectId' | 'batch' | 'actorId'>

export function batchError(event: InBatch, { seq, projectId, batch, actorId }: InBatch): string | undefined {
  if (event.seq !== seq || event.projectId !== projectId) return 'wrote events that are not contiguous'
  if (event.batch !== batch) return `wrote an event with the batch ${event.batch}`
  if (event.actorId !== actorId) return `wrote an event with the actor ${event.actorId}`
  return undefined
}

interface Results {
  results: { etag: string }[]
}

export function eventsOfBatch(
  { body, callerId, text, status }: Operation,
  stored: StoredResponse,
  byEtag: ReadonlyMap<string, LogEvent>,
): LogEvent[] | string {
  if (status === 200 && text !== stored.body) return `returned ${text}, but ${stored.body} is stored`
  const { results } = JSON.parse(stored.body) as Results
  const events = results.map(({ etag }) => byEtag.get(etag))
  const [first] = events
  const operations = body!.operations as Record<string, unknown>[]
  if (!first || results.length !== operations.length) return 'is not in the log'
  for (const [i, event] of events.entries()) {
    const { op = '', ...fields } = operations[i]!
    if (!event || event.type !== types[op as string]) return `has no event for its operation ${i}`
    const expected = { seq: first.seq + i, projectId: first.projectId, batch: first.seq, actorId: callerId }
    const error = batchError(event, expected)
    if (error) return error
    const differs = ['title', 'text', 'status'].some(
      (name) => name in fields && event.after?.[name] !== fields[name],
    )
    if (differs) return `wrote ${JSON.stringify(event.after)}`
  }
  return events as LogEvent[]
}
