import { viewOf } from './claims.ts'
import type { Evidence, Fact, Row } from './evidence.ts'
import { History, type Operation } from './history.ts'
import { judge } from './checks.ts'

/** A small run made by hand: a project, and a request every ten milliseconds that makes its next event. */
export const project = '00000000-0000-7000-8000-00000000000a'
export const owner = '00000000-0000-7000-8000-00000000000b'

export const idOf = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`
export const taskOf = (seq: number) => idOf(100 + seq)

export function fact(seq: number, eventId = idOf(seq)): Fact & { after: Row } {
  const alone = { batch: null, undoes: null, before: null }
  const both = {
    projectId: project,
    seq,
    id: eventId,
    actorId: owner,
    at: 'now',
    xact: String(seq),
    ...alone,
  }
  if (seq > 1) {
    const after = taskRow(seq, eventId)
    return { ...both, type: 'task.created', entity: 'task', entityId: after.id, taskId: after.id, after }
  }
  const texts = { name: 'project', description: null, createdAt: 'now' }
  const after = { id: project, eventId, ownerId: owner, ...texts }
  return { ...both, type: 'project.created', entity: 'project', entityId: project, taskId: null, after }
}

function taskRow(seq: number, eventId: string): Row {
  const empty = { description: null, dueDate: null, assigneeId: null }
  const set = { status: 'TODO', priority: 'MEDIUM', createdAt: 'now', updatedAt: 'now' }
  return {
    id: taskOf(seq),
    eventId,
    projectId: project,
    number: seq - 1,
    title: `task ${seq}`,
    ...empty,
    ...set,
  }
}

export function write({ seq, entity, id, after }: Fact & { after: Row }): Operation {
  const isTask = entity === 'task'
  const about = { entity, id: '', projectId: isTask ? project : undefined }
  const body: Record<string, unknown> = isTask ? { title: after.title } : { name: after.name }
  const asked = {
    kind: isTask ? 'task.create' : 'project.create',
    method: 'POST' as const,
    path: `/${entity}s`,
  }
  const told = { status: 201, etag: `"${id}"`, text: viewOf(entity, after), replayed: false, failures: [] }
  return {
    ...asked,
    about,
    body,
    callerId: owner,
    key: `key ${seq}`,
    start: seq * 10,
    end: seq * 10 + 5,
    ...told,
  }
}

export function read(seq: number, start: number, end: number, more: Partial<Operation> = {}): Operation {
  const { id, after } = fact(seq)
  const about = { entity: 'task' as const, id: taskOf(seq), taskId: taskOf(seq) }
  const asked = { kind: 'task.get', method: 'GET' as const, path: `/tasks/${taskOf(seq)}`, about, key: '' }
  const told = { status: 200, etag: `"${id}"`, text: viewOf('task', after), replayed: false, failures: [] }
  return { ...asked, callerId: owner, start, end, ...told, ...more }
}

export interface Told {
  operations: Operation[]
  evidence: Evidence
}

export function honest(events = 4): Told {
  const facts = Array.from({ length: events }, (_, i) => fact(i + 1))
  const operations = facts.map(write)
  const kept = new Map(
    operations.map(({ key, status, etag }, i) => [key, { status, etag, body: '', xact: String(i + 1) }]),
  )
  const streams = [{ projectId: project, version: events, lastNumber: events - 1 }]
  const rows = facts.map(({ entity, after }) => ({ entity, row: after }))
  return {
    operations,
    evidence: { facts, rows, kept, people: new Map(), streams, remembered: [project], posted: 0, owed: [] },
  }
}

export function verdictOn({ operations, evidence }: Told, flaws: string[] = []) {
  const history = new History()
  history.operations.push(...operations)
  history.flaws.push(...flaws)
  return judge(history, evidence)
}
