import { checkHistory } from './check-run.ts'
import type { Undo } from './check-writes.ts'
import { type Evidence, eventJson, type LogEvent, type Row } from './evidence.ts'
import { viewOf } from './check-writes.ts'
import { History, type Operation } from './history.ts'

/** A valid run with one project: a request every ten milliseconds writes the next event. */
export interface Run {
  operations: Operation[]
  evidence: Evidence
}

export const project = '00000000-0000-7000-8000-00000000000a'
export const owner = '00000000-0000-7000-8000-00000000000b'

export const idOf = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`
export const taskOf = (seq: number) => idOf(100 + seq)
export const aboutProject = { entity: 'project' as const, id: project, projectId: project }

export function eventAt(seq: number, id = idOf(seq)): LogEvent & { after: Row } {
  const common = { projectId: project, seq, id, actorId: owner, at: 'now', xact: String(seq) }
  const rest = { ...common, batch: null, undoes: null, before: null }
  if (seq > 1) {
    const after = taskRow(seq, id)
    return { ...rest, type: 'task.created', entity: 'task', entityId: after.id, taskId: after.id, after }
  }
  const texts = { name: 'project', description: null, createdAt: 'now' }
  const after = { id: project, eventId: id, ownerId: owner, ...texts }
  return { ...rest, type: 'project.created', entity: 'project', entityId: project, taskId: null, after }
}

const taskRow = (seq: number, eventId: string): Row => ({
  ...{ id: taskOf(seq), eventId, projectId: project, number: seq - 1, title: `task ${seq}` },
  ...{ description: null, dueDate: null, assigneeId: null },
  ...{ status: 'TODO', priority: 'MEDIUM', createdAt: 'now', updatedAt: 'now' },
})

export function creationOf({ seq, entity, id, after }: LogEvent & { after: Row }): Operation {
  const isTask = entity === 'task'
  return {
    ...{ kind: isTask ? 'task.create' : 'project.create', method: 'POST' as const, path: `/${entity}s` },
    about: { entity, id: '', projectId: isTask ? project : undefined },
    body: isTask ? { title: after.title } : { name: after.name },
    ...{ callerId: owner, key: `key ${seq}`, start: seq * 10, end: seq * 10 + 5 },
    ...{ status: 201, etag: `"${id}"`, text: viewOf(entity, after), replayed: false, failures: [] },
  }
}

export function readOf(seq: number, start: number, end: number, more: Partial<Operation> = {}): Operation {
  const { id, after } = eventAt(seq)
  const about = { entity: 'task' as const, id: taskOf(seq), taskId: taskOf(seq) }
  return {
    ...{ kind: 'task.get', method: 'GET' as const, path: `/tasks/${taskOf(seq)}`, about, key: '' },
    ...{ callerId: owner, start, end, status: 200, etag: `"${id}"`, text: viewOf('task', after) },
    ...{ replayed: false, failures: [], ...more },
  }
}

export function validRun(count = 4): Run {
  const events = Array.from({ length: count }, (_, i) => eventAt(i + 1))
  const operations = events.map(creationOf)
  const responses = new Map(
    operations.map(({ key, status, etag }, i) => [key, { status, etag, body: '', xact: String(i + 1) }]),
  )
  const streams = [{ projectId: project, version: count, lastNumber: count - 1 }]
  const rows = events.map(({ entity, after }) => ({ entity, row: after }))
  const jobs = { jobCount: 0, pendingJobs: [] }
  return {
    operations,
    evidence: { events, rows, responses, people: new Map(), streams, projectsWithEvents: [project], ...jobs },
  }
}

export function verdictOf({ operations, evidence }: Run) {
  const history = new History()
  history.operations.push(...operations)
  return checkHistory(history, evidence)
}

export const violationsIn = (run: Run): string =>
  verdictOf(run)
    .violations.map(({ check, detail }) => `${check}: ${detail}`)
    .join('\n')

type NewEvent = Partial<LogEvent> & Pick<LogEvent, 'type' | 'before' | 'after'>

export function addEvent({ evidence }: Run, given: NewEvent): LogEvent {
  const { events, streams } = evidence
  const seq = events.length + 1
  const event = { ...events[1]!, undoes: null, batch: null, ...given, seq, id: idOf(seq), xact: String(seq) }
  if (event.after) event.after = { ...event.after, eventId: event.id }
  events.push(event)
  streams[0]!.version = seq
  return event
}

export function addRequest(
  { operations, evidence }: Run,
  given: Partial<Operation> & Pick<Operation, 'kind' | 'path' | 'text'>,
): void {
  const { seq, id, after } = evidence.events.at(-1)!
  const operation: Operation = {
    ...{ method: 'POST', about: { entity: 'task', id: taskOf(2), taskId: taskOf(2) }, callerId: owner },
    ...{ key: `key ${seq}`, replayed: false, start: seq * 10, end: seq * 10 + 5, status: 200 },
    ...{ etag: after && given.kind !== 'undo' ? `"${id}"` : null, failures: [], ...given },
  }
  operations.push(operation)
  const { key, status, etag, text: body } = operation
  evidence.responses.set(key, { status, etag, body, xact: String(seq) })
}

export function addUndo(run: Run, body: Undo, written: LogEvent[], more: Partial<Operation> = {}): void {
  const changes = written.map((event) => JSON.parse(eventJson(event, run.evidence.people)) as object)
  const text = JSON.stringify({ version: written.at(-1)!.seq, changes })
  const path = `/projects/${project}/undo`
  addRequest(run, { kind: 'undo', path, body: { ...body }, text, about: aboutProject, ...more })
}
