import { model } from '../../modules/modules.ts'
import { serviceActor } from '../../src/model/events.ts'
import type { Evidence, LogEvent, StoredResponse } from './evidence.ts'
import { eventIdIn, idsIn, label, type Operation, outcomeOf } from './history.ts'

/** Also new sort keys of tasks, which a placement next to them causes. */
const ofWorker = /^task\.(unassigned|released|reminded|due|ready|claim_expired|updated)$/

export interface Attribution {
  errors: string[]
  /** Requests by event id. The end of a request is Infinity if its client got no response. */
  causes: Map<string, Operation>
  resolved: { applied: number; notApplied: number; late: number }
}

type Written = Pick<Evidence, 'events' | 'responses'>

/**
 * Checks that each acknowledged write names events of the log, equal to the request and the response; that no rejected
 * write wrote an event; and that every event has one request. An idempotency record resolves an unknown outcome.
 */
export function attribute(writes: Operation[], { events, responses }: Written): Attribution {
  const resolved = { applied: 0, notApplied: 0, late: 0 }
  const attribution: Attribution = { errors: [], causes: new Map(), resolved }
  const { causes, errors } = attribution
  const byId = new Map(events.map((event) => [event.id, event]))
  const groupOf = groupsOf(events)
  const claimed = new Set<string>()
  const namedBy = namesIn(events)
  // A change that writes no event may name the event of a later request, so such changes come last.
  const rank = (one: Operation) => Number(!isNeverEmpty(one))
  for (const operation of writes.toSorted((a, b) => rank(a) - rank(b) || a.start - b.start)) {
    const stored = responses.get(operation.key)
    const applied = resolve(operation, stored, attribution)
    if (!applied || !stored) continue
    const report = (error: string) => void errors.push(`${label(operation)} ${error}`)
    const named = namedBy(applied, stored)
    const found = named.flatMap((id) => byId.get(id) ?? [])
    if (found.length < named.length || named.length === 0) report('is not in the log')
    for (const event of found) {
      const cause = causes.get(event.id)
      // A later change may return an event that another command wrote beside its own, such as a new sort key.
      const isEarlier = cause !== undefined && cause.end < operation.start
      const isOwn = event.actorId === operation.callerId && !claimed.has(event.id) && !isEarlier
      // A change to the values that a row already has writes no event, and returns the row of an earlier event.
      if (!isOwn && cause !== applied && isNeverEmpty(operation))
        report(`has the same event as ${cause ? label(cause) : event.actorId}`)
      if (!isOwn) continue
      claimed.add(event.id)
      // Commands of one caller in one commit may have the same time, so only named events are certain.
      for (const id of groupOf(event)) if (id === event.id || !claimed.has(id)) causes.set(id, applied)
    }
    for (const error of contentErrors(applied, stored, found)) report(error)
  }
  const isExpected = ({ entity, type, actorId }: LogEvent) =>
    model.entities[entity].unlogged !== undefined || (actorId === serviceActor && ofWorker.test(type))
  const unrequested = events.filter((event) => !causes.has(event.id) && !isExpected(event))
  for (const { seq, projectId, type, entityId, actorId } of unrequested)
    errors.push(`event ${seq} of ${projectId} (${type} ${entityId} by ${actorId}) has no request`)
  return attribution
}

const isNeverEmpty = ({ method, path, status }: Operation): boolean =>
  method === 'DELETE' || status === 201 || /\/(toggle|append|batch|undo)$/.test(path)

function resolve(
  operation: Operation,
  stored: StoredResponse | undefined,
  { resolved, errors }: Attribution,
): Operation | undefined {
  const outcome = outcomeOf(operation)
  if (outcome === 'done') {
    // A request for the next task stores no record if no task is ready.
    if (!stored && operation.status !== 204)
      errors.push(`${label(operation)} was acknowledged without an idempotency record`)
    else if (stored && (stored.status !== operation.status || stored.etag !== operation.etag))
      errors.push(`${label(operation)} returned another response than ${JSON.stringify(stored)}`)
    return operation
  }
  if (outcome === 'unknown') resolved[stored ? 'applied' : 'notApplied']++
  if (!stored) return undefined
  // An attempt without a response may be executed after a later attempt was rejected.
  if (outcome === 'rejected' && operation.failures.length > 0) resolved.late++
  else if (outcome === 'rejected')
    errors.push(`${label(operation)} was rejected with ${operation.status}, but took effect`)
  return { ...operation, end: Infinity }
}

interface Several {
  results?: { etag: string }[]
  changes?: { id: string }[]
}

/** Returns a function that returns the ids of the events that a response names. */
function namesIn(events: LogEvent[]) {
  const deletions = events.filter(({ after, undoes }) => !after && undoes == null)
  const byCommit = new Map(deletions.map(({ entityId, xact, id }) => [`${entityId} ${xact}`, id]))
  return ({ path }: Operation, { body, etag, xact }: StoredResponse): string[] => {
    const { results, changes } = (/\/(batch|undo)$/.test(path) ? JSON.parse(body) : {}) as Several
    const single = eventIdIn(etag) ?? byCommit.get(`${idsIn(path).at(-1)} ${xact}`)
    const several = results?.map((one) => eventIdIn(one.etag)!) ?? changes?.map(({ id }) => id)
    return several ?? (single ? [single] : [])
  }
}

/** Returns a function that returns the ids of all events of the command that wrote an event, in both projects of a move. */
function groupsOf(events: LogEvent[]) {
  const keysOf = ({ projectId, batch, actorId, at, xact }: LogEvent) => [
    `${actorId} ${at} ${xact}`,
    ...(batch == null ? [] : [`${projectId} ${batch}`]),
  ]
  const groups = new Map<string, string[]>()
  for (const event of events)
    for (const key of keysOf(event)) groups.set(key, [...(groups.get(key) ?? []), event.id])
  return (event: LogEvent): string[] => keysOf(event).flatMap((key) => groups.get(key)!)
}

type Fields = Record<string, unknown>
const texts = ['title', 'text', 'name', 'completed']

/** Compares the request and its response with the events. Lists and objects are computed when a row is shown. */
function contentErrors(operation: Operation, stored: StoredResponse, events: LogEvent[]): string[] {
  const { body = {}, path, status, text } = operation
  const isSeveral = /\/(batch|undo)$/.test(path)
  const isUndo = path.endsWith('/undo')
  const sent = (body.operations as Fields[] | undefined) ?? [body]
  const differences = events.flatMap((event, n) => [
    ...differing(isUndo ? {} : (sent[n] ?? {}), event.after, texts),
    ...(isSeveral || ![200, 201].includes(status) ? [] : differing(JSON.parse(text) as Fields, event.after)),
  ])
  const [first] = events
  const isApart = (event: LogEvent, n: number) =>
    event.seq !== first!.seq + n || event.batch !== (events.length > 1 ? first!.seq : null)
  return [
    ...differences.map((name) => `wrote a different ${name}: ${JSON.stringify(first?.after)}`),
    ...(isSeveral && status === 200 && text !== stored.body ? [`returned ${text}, not ${stored.body}`] : []),
    ...(isSeveral && events.some(isApart) ? ['wrote events that are not one batch'] : []),
    ...(events.some(({ undoes }) => isUndo && undoes == null) ? ['wrote events that undo nothing'] : []),
  ]
}

/** Null in a stored row if they have the default. */
const withDefault = ['position', 'attempts', 'textEdits']

/** Returns the names of scalar fields that a row also has, with another value. */
export function differing(fields: Fields, row: Fields | null, names = Object.keys(fields)): string[] {
  const isScalar = (value: unknown) => value === null || typeof value !== 'object'
  const isCompared = (name: string) => row && name in row && isScalar(fields[name])
  return names.filter(
    (name) =>
      name in fields && isCompared(name) && !withDefault.includes(name) && row![name] !== fields[name],
  )
}
