import { model } from '../../modules/modules.ts'
import { workerActor } from '../../workers/cascade.ts'
import { eventsOfBatch } from './check-batches.ts'
import { eventsOfUndo } from './check-undos.ts'
import type { Evidence, LogEvent, StoredResponse } from './evidence.ts'
import { eventTypes, mismatch, viewOf, withoutPeople } from './expected-events.ts'
import { label, type Operation, outcomeOf } from './history.ts'

const ofWorker = /^task\.(unassigned|released|reminded|due|ready|claim_expired)$/

export interface Attribution {
  errors: string[]
  /** Requests by event id. The end of a request is Infinity if its client got no response. */
  causes: Map<string, Operation>
  resolved: { applied: number; notApplied: number; late: number }
}

/**
 * Checks that each acknowledged write wrote exactly one event, equal to the request and the response; that no rejected
 * write wrote an event; and that every event has a request. A stored idempotency record resolves an unknown outcome.
 */
export function attribute(
  writes: Operation[],
  { events, responses, people }: Pick<Evidence, 'events' | 'responses' | 'people'>,
): Attribution {
  const resolved = { applied: 0, notApplied: 0, late: 0 }
  const attribution: Attribution = { errors: [], causes: new Map(), resolved }
  const { causes, errors } = attribution
  const byEtag = new Map(events.map((event) => [`"${event.id}"`, event]))
  const find = finderOf(events, byEtag, causes)
  const severalEventsOf = { batch: eventsOfBatch, undo: eventsOfUndo }
  for (const operation of writes.toSorted((a, b) => a.start - b.start)) {
    const response = responses.get(operation.key)
    const applied = resolve(operation, response, attribution)
    if (!applied) continue
    const eventsOf = severalEventsOf[operation.kind as keyof typeof severalEventsOf]
    const error = eventsOf
      ? attributeMany(applied, response && eventsOf(applied, response, byEtag, people), causes)
      : attributeOne(operation, find(operation, response), applied, causes)
    if (error) errors.push(`${label(operation)} ${error}`)
  }
  attributeMoves(events, causes)
  for (const { id, type, entity, projectId, seq, actorId, entityId } of events) {
    // Requests about webhooks are not recorded. The worker ends assignments and claims of removed members, and records times.
    const isExpected =
      model.entities[entity].unlogged !== undefined || (actorId === workerActor && ofWorker.test(type))
    if (!causes.has(id) && !isExpected)
      errors.push(`event ${seq} of ${projectId} (${type} ${entityId}) has no request`)
  }
  return attribution
}

function resolve(
  operation: Operation,
  response: StoredResponse | undefined,
  { resolved, errors }: Attribution,
): Operation | undefined {
  const outcome = outcomeOf(operation)
  if (outcome === 'done') {
    if (!response) errors.push(`${label(operation)} was acknowledged without an idempotency record`)
    else if (response.status !== operation.status || response.etag !== operation.etag)
      errors.push(
        `${label(operation)} returned a response that differs from its idempotency record: ${JSON.stringify(response)}`,
      )
    return operation
  }
  if (outcome === 'unknown') resolved[response ? 'applied' : 'notApplied']++
  if (!response) return undefined
  // An attempt without a response may be executed after a later attempt was rejected.
  if (outcome === 'rejected' && operation.failures.length > 0) resolved.late++
  else if (outcome === 'rejected')
    errors.push(`${label(operation)} was rejected with ${operation.status}, but took effect`)
  return { ...operation, end: Infinity }
}

function attributeMany(
  applied: Operation,
  events: LogEvent[] | string | undefined,
  causes: Attribution['causes'],
): string | undefined {
  if (!events) return 'has no idempotency record'
  if (typeof events === 'string') return events
  const other = events.map(({ id }) => causes.get(id)).find(Boolean)
  if (other) return `wrote the same events as ${label(other)}`
  for (const { id } of events) causes.set(id, applied)
  return undefined
}

function attributeOne(
  operation: Operation,
  event: LogEvent | undefined,
  applied: Operation,
  causes: Attribution['causes'],
) {
  if (!event) return 'is not in the log'
  const wrong = mismatch(operation, event)
  if (wrong) return wrong
  const hasBody = outcomeOf(operation) === 'done' && event.after
  if (hasBody && viewOf(event.entity, event.after!) !== withoutPeople(operation.text))
    return `returned ${operation.text}, but the log has ${JSON.stringify(event.after)}`
  const isOwnChange =
    event.type === 'member.role_set' && event.actorId === operation.callerId && event.undoes == null
  // Setting a role that the member already has writes no event; the response is the latest event.
  if (operation.kind === 'member.role' && (causes.has(event.id) || !isOwnChange)) return undefined
  if (causes.has(event.id)) return `has the same event as ${label(causes.get(event.id)!)}`
  causes.set(event.id, applied)
  return undefined
}

/** Attributes all events of a move to the request of its last `task.moved_in`, which has the highest event id. */
function attributeMoves(events: LogEvent[], causes: Attribution['causes']): void {
  const moves = events.filter(({ type }) => type === 'task.moved_out' || type === 'task.moved_in')
  for (const ofTask of Map.groupBy(moves, ({ entityId }) => entityId).values()) {
    let cause: Operation | undefined
    for (const { id, type } of ofTask.sort((a, b) => (a.id < b.id ? 1 : -1))) {
      cause = causes.get(id) ?? cause
      if (cause) causes.set(id, cause)
      if (type === 'task.moved_out') cause = undefined
    }
  }
}

/** Finds events by the ETag of the response, or, for deletions, by the transaction of the idempotency record. */
function finderOf(events: LogEvent[], byEtag: Map<string, LogEvent>, causes: Attribution['causes']) {
  const deletions = events.filter(({ after, undoes }) => !after && undoes == null)
  const byCommit = Map.groupBy(deletions, ({ type, entityId, xact }) => `${type} ${entityId} ${xact}`)
  return ({ kind, about, etag: returned }: Operation, response: StoredResponse | undefined) => {
    const etag = response?.etag ?? returned
    if (etag) return byEtag.get(etag)
    const found = byCommit.get(`${eventTypes[kind]?.[0]} ${about.id} ${response?.xact}`)
    return found?.find(({ id }) => !causes.has(id)) ?? found?.[0]
  }
}
