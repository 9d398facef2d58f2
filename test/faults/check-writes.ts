import { model } from '../../modules/modules.ts'
import { workerActor } from '../../workers/cascade.ts'
import { eventJson, type Evidence, type LogEvent, type Row, type StoredResponse } from './evidence.ts'
import { label, type Operation, outcomeOf } from './history.ts'
import { commentView } from '../../modules/comments/schema.ts'
import { fieldView } from '../../modules/fields/schema.ts'
import { labelView } from '../../modules/labels/schema.ts'
import { memberView } from '../../modules/members/schema.ts'
import { projectView } from '../../modules/projects/schema.ts'
import { subtaskView } from '../../modules/subtasks/schema.ts'
import { savedView } from '../../modules/views/schema.ts'
import { taskView } from '../../modules/tasks/schema.ts'
import type { Entity, Rows } from '../../src/model/entities.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { emptyContents, fold } from '../support/fold.ts'

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

export const eventTypes: Record<string, string[]> = {
  'project.create': ['project.created'],
  'project.patch': ['project.updated'],
  'project.delete': ['project.deleted'],
  'member.invite': ['member.invited'],
  'member.role': ['member.role_set', 'member.invited'],
  'member.remove': ['member.removed'],
  'task.create': ['task.created'],
  'task.patch': ['task.updated'],
  // A move to the task's own project only updates the task.
  'task.move': ['task.moved_in', 'task.updated'],
  'task.delete': ['task.deleted'],
  'subtask.add': ['subtask.created'],
  'subtask.toggle': ['subtask.toggled'],
  'subtask.patch': ['subtask.updated'],
  'subtask.delete': ['subtask.deleted'],
  'comment.add': ['comment.created'],
  'comment.edit': ['comment.updated'],
  'comment.delete': ['comment.deleted'],
}

type Integration = 'webhook' | 'service_account' | 'token'
const views: { [E in Exclude<Entity, Integration>]: (row: Rows[E]) => object } = {
  project: (row) => projectView.of(row),
  member: (row) => memberView.of(row),
  task: (row) => taskView.of(row),
  subtask: (row) => subtaskView.of(row),
  field: (row) => fieldView.of(row),
  view: (row) => savedView.of(row),
  label: (row) => labelView.of(row),
  comment: (row) => ({ ...commentView.of(row), authorRemoved: false }),
}

/** Removes user objects with the right ids from a response, because the log has no names. */
export function withoutPeople(text: string): string {
  const body: Record<string, { id?: string } | string | null> = JSON.parse(text)
  for (const role of ['owner', 'user', 'author']) {
    const person = body[role]
    if (person && typeof person === 'object' && person.id === body[`${role}Id`]) body[role] = null
  }
  return JSON.stringify(body)
}

/** Returns a row as JSON of the API, without user objects. */
export const viewOf = (entity: Entity, row: Row): string =>
  JSON.stringify((views[entity as Exclude<Entity, Integration>] as (row: unknown) => object)(row))

export function mismatch(operation: Operation, event: LogEvent): string | undefined {
  const { kind, callerId, about, body = {}, ifMatch } = operation
  if (event.undoes != null && kind !== 'member.role') return 'has an event that an undo wrote'
  if (!eventTypes[kind]?.includes(event.type)) return `wrote an event of type ${event.type}`
  if (event.actorId !== callerId && kind !== 'member.role')
    return `has an event with the actor ${event.actorId}`
  if (about.id && about.id !== event.entityId) return `changed ${event.entity} ${event.entityId}`
  const { after } = event
  const differs = Object.keys(body).filter((field) => field !== 'email' && after?.[field] !== body[field])
  if (after && differs.length) return `wrote a different ${differs.join(', ')}: ${JSON.stringify(after)}`
  if (kind === 'subtask.toggle' && after?.completed === event.before?.completed) return 'did not toggle'
  if (ifMatch && event.before && ifMatch !== `"${event.before.eventId}"`) return `ignored If-Match ${ifMatch}`
  return undefined
}

export interface Undo {
  seq?: number
  batch?: number
  seqs?: number[]
}

interface UndoResponse {
  version: number
  changes: { id: string; seq: number }[]
}

const isDryRun = ({ path }: Pick<Operation, 'path'>): boolean => path.endsWith('?dryRun=true')

export const isUndoDryRun = (operation: Operation): boolean =>
  operation.kind === 'undo' && isDryRun(operation)

export function eventsOfUndo(
  operation: Operation,
  stored: StoredResponse,
  byEtag: ReadonlyMap<string, LogEvent>,
  people: Evidence['people'],
): LogEvent[] | string {
  const { about, callerId, status, text } = operation
  if (status === 200 && text !== stored.body) return `returned ${text}, but ${stored.body} is stored`
  const { version, changes } = JSON.parse(stored.body) as UndoResponse
  const events = changes.map(({ id }) => byEtag.get(`"${id}"`))
  if (isDryRun(operation)) {
    if (events.some(Boolean)) return 'is a dry run, but its events are in the log'
    return changes.every(({ seq }, i) => seq === version + 1 + i) ? [] : 'does not predict the next seqs'
  }
  const [first] = events
  if (!first) return 'is not in the log'
  const batch = events.length > 1 ? first.seq : null
  for (const [i, event] of events.entries()) {
    if (!event) return `returned ${JSON.stringify(changes[i])}, which is not in the log`
    const expected = { seq: first.seq + i, projectId: about.projectId!, batch, actorId: callerId }
    const error = batchError(event, expected)
    if (error) return error
    if (eventJson(event, people) !== JSON.stringify(changes[i]))
      return `returned ${JSON.stringify(changes[i])}, but the log has ${eventJson(event, people)}`
  }
  return events.at(-1)!.seq === version ? (events as LogEvent[]) : `returned version ${version}`
}

/** Checks that each undo reverses exactly the events in its request, and keeps later changes of other fields. */
export function checkUndos(events: LogEvent[], causes: Attribution['causes']): string[] {
  const isUndo = ({ id }: LogEvent) => causes.get(id)?.kind === 'undo'
  return [...Map.groupBy(events, ({ projectId }) => projectId).values()].flatMap((history) => {
    const unrequested = history.filter((event) => event.undoes != null && !isUndo(event))
    const undos = Map.groupBy(history.filter(isUndo), ({ id }) => causes.get(id)!)
    const children = childrenAtDeletion(history)
    return [
      ...unrequested.map(
        ({ seq, undoes }) => `event ${seq} undoes ${undoes}, but no request asked for this undo`,
      ),
      ...[...undos].flatMap(([undo, written]) =>
        undoErrors(undo, written, history, children).map((error) => `${label(undo)} ${error}`),
      ),
    ]
  })
}

/** Returns the ids of the subtasks and comments of each deleted task, by the seq of the deletion. */
function childrenAtDeletion(history: LogEvent[]): Map<number, string[]> {
  const contents = emptyContents()
  const children = new Map<number, string[]>()
  for (const event of history) {
    if (event.type === 'task.deleted') {
      const rows = [...contents.subtask.values(), ...contents.comment.values()]
      children.set(
        event.seq,
        rows.filter(({ taskId }) => taskId === event.entityId).map(({ id }) => id),
      )
    }
    fold(contents, event as unknown as StoredEvent)
  }
  return children
}

function undoErrors(
  undo: Operation,
  written: LogEvent[],
  history: LogEvent[],
  children: ReadonlyMap<number, string[]>,
): string[] {
  const named = seqsOf(undo.body as Undo, history.slice(0, written[0]!.seq - 1))
  const undone = new Set(written.map(({ undoes }) => undoes))
  // Undoing an undo that restored a task with its children deletes all of them by one event.
  const isRestoredChild = (seq: number) =>
    history[seq - 1]!.undoes != null && !history[seq - 1]!.before && history[seq - 1]!.entity !== 'task'
  // Restoring a member also assigns the member's former tasks again.
  const isNamed = ({ undoes }: LogEvent) =>
    named.includes(undoes!) || history[undoes! - 1]?.type === 'task.unassigned'
  const restored = new Set(written.flatMap(({ after, entityId }) => (after ? entityId : [])))
  const lost = named.flatMap((seq) => children.get(seq) ?? []).filter((id) => !restored.has(id))
  return [
    ...named
      .filter((seq) => !undone.has(seq) && !isRestoredChild(seq))
      .map((seq) => `did not undo event ${seq}`),
    ...written.filter((event) => !isNamed(event)).map(({ undoes }) => `undid ${undoes} without naming it`),
    ...lost.map((id) => `did not restore ${id} with its task`),
    ...written.flatMap((event) => inverseError(event, history[event.undoes! - 1]) ?? []),
  ]
}

const versionFields = ['eventId', 'updatedAt']

function inverseError(event: LogEvent, target: LogEvent | undefined): string | undefined {
  const about = `wrote event ${event.seq} (${event.type}) to undo ${event.undoes} (${target?.type})`
  if (!target || target.seq >= event.seq) return `${about}, which is not an earlier event`
  const { before, after } = event
  if (target.type === 'task.deleted' && (event.type === 'task.unassigned' || !before)) return undefined
  if (event.entityId !== target.entityId || !after !== !target.before || !before !== !target.after)
    return `${about}, which is not its inverse`
  if (!before || !after || !target.before || !target.after) return undefined
  const [from, to] = [target.before, target.after]
  const fields = Object.keys(to).filter((name) => !versionFields.includes(name) && name in before)
  const changed = fields.filter((name) => from[name] !== to[name])
  const overwritten = changed.filter((name) => before[name] !== to[name])
  if (overwritten.length > 0) return `${about} and overwrote a later change of ${overwritten.join(', ')}`
  const wrong = fields.filter((name) => after[name] !== (changed.includes(name) ? from : before)[name])
  return wrong.length > 0 ? `${about} with a wrong ${wrong.join(', ')}` : undefined
}

export function seqsOf({ seq, seqs, batch }: Undo, history: LogEvent[]): number[] {
  if (batch === undefined) return seqs ?? [seq!]
  return history.filter((event) => event.batch === batch).map((event) => event.seq)
}

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
