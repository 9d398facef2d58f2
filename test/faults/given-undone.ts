import { viewOf } from './claims.ts'
import { type Fact, type Row, shownFact } from './evidence.ts'
import { honest, idOf, owner, project, taskOf, type Told } from './given.ts'
import type { Operation } from './history.ts'
import type { Undo } from './undoing.ts'

const task = taskOf(2)
export const step = idOf(300)
const about = { entity: 'task' as const, id: task, taskId: task }

export function happened(told: Told, wanted: Partial<Fact> & Pick<Fact, 'type' | 'before' | 'after'>): Fact {
  const { facts, streams } = told.evidence
  const seq = facts.length + 1
  const fact = { ...facts[1]!, undoes: null, batch: null, ...wanted, seq, id: idOf(seq), xact: String(seq) }
  if (fact.after) fact.after = { ...fact.after, eventId: fact.id }
  facts.push(fact)
  streams[0]!.version = seq
  return fact
}

export function asked(told: Told, wanted: Partial<Operation> & Pick<Operation, 'kind' | 'path' | 'text'>) {
  const { operations, evidence } = told
  const { seq, id, after } = evidence.facts.at(-1)!
  const isTagged = after && wanted.kind !== 'undo'
  const made = { method: 'POST' as const, about, callerId: owner, key: `key ${seq}`, replayed: false }
  const at = {
    start: seq * 10,
    end: seq * 10 + 5,
    status: 200,
    etag: isTagged ? `"${id}"` : null,
    failures: [],
  }
  const operation: Operation = { ...made, ...at, ...wanted }
  operations.push(operation)
  const { key, status, etag, text: body } = operation
  evidence.kept.set(key, { status, etag, body, xact: String(seq) })
  return operation
}

export function undid(told: Told, body: Undo, made: Fact[], more: Partial<Operation> = {}): Operation {
  const changes = made.map((fact) => JSON.parse(shownFact(fact, told.evidence.people)) as object)
  const text = JSON.stringify({ version: made.at(-1)!.seq, changes })
  const about = { entity: 'project' as const, id: project, projectId: project }
  const path = `/projects/${project}/undo`
  return asked(told, { kind: 'undo', path, body: { ...body }, text, about, ...more })
}

/** A task that got another title (3), which was undone (4). */
export function changedBack(told: Told = honest(2)): Told {
  const { facts, rows } = told.evidence
  const [was, left] = [facts[1]!.after!, { ...facts[1]!.after!, title: 'other' } as Row]
  const changed = happened(told, { type: 'task.updated', before: was, after: left })
  const text = viewOf('task', changed.after!)
  asked(told, { kind: 'task.patch', method: 'PATCH', path: `/tasks/${task}`, body: { title: 'other' }, text })
  const back = happened(told, { type: 'task.updated', before: changed.after, after: was, undoes: 3 })
  undid(told, { seq: 3 }, [back])
  rows[1]!.row = back.after!
  return told
}

/** A task with a subtask (3) that was deleted (4), and came back with it (5 and 6). */
export function broughtBack(told: Told = honest(2)): Told {
  const { facts, rows } = told.evidence
  const whole = facts[1]!.after!
  const fresh = { id: step, eventId: '', taskId: task, title: 'step', completed: false } as Row
  const subtask = { entity: 'subtask' as const, entityId: step, before: null }
  const added = happened(told, { type: 'subtask.created', ...subtask, after: fresh })
  const path = `/tasks/${task}/subtasks`
  const entity = 'subtask' as const
  const body = { title: 'step' }
  const text = viewOf(entity, added.after!)
  asked(told, { kind: 'subtask.add', path, body, text, status: 201, about: { ...about, entity, id: '' } })
  happened(told, { type: 'task.deleted', before: whole, after: null })
  asked(told, { kind: 'task.delete', method: 'DELETE', path: `/tasks/${task}`, text: '{}' })
  const both = { undoes: 4, batch: 5 }
  const back = happened(told, { type: 'task.created', before: null, after: whole, ...both })
  const along = happened(told, { type: 'subtask.created', ...subtask, after: fresh, ...both })
  undid(told, { seq: 4 }, [back, along])
  rows[1]!.row = back.after!
  rows.push({ entity, row: along.after! })
  return told
}
