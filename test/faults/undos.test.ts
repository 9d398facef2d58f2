import { eventJson, type LogEvent, type Row } from './evidence.ts'
import { viewOf } from './check-writes.ts'
import { aboutProject, addEvent, addRequest, addUndo, idOf, owner, project } from './sample-run.ts'
import { readOf, type Run, taskOf, validRun, violationsIn } from './sample-run.ts'

const task = taskOf(2)
const subtaskId = idOf(300)

/** Event 3 changes the title of a task, and event 4 undoes event 3. */
function undoneUpdate(): Run {
  const run = validRun(2)
  const { events, rows } = run.evidence
  const before = events[1]!.after!
  const changed = addEvent(run, { type: 'task.updated', before, after: { ...before, title: 'other' } })
  const text = viewOf('task', changed.after!)
  addRequest(run, { kind: 'task.patch', path: `/tasks/${task}`, body: { title: 'other' }, text })
  const undo = addEvent(run, { type: 'task.updated', before: changed.after, after: before, undoes: 3 })
  addUndo(run, { seq: 3 }, [undo])
  rows[1]!.row = undo.after!
  return run
}

/** Event 3 adds a subtask, event 4 deletes its task, events 5 and 6 restore both. */
function undoneDeletion(): Run {
  const run = validRun(2)
  const { events, rows } = run.evidence
  const before = events[1]!.after!
  const entity = 'subtask' as const
  const subtask = { entity, entityId: subtaskId, before: null }
  const row = { id: subtaskId, eventId: '', taskId: task, title: 'step', completed: false } as Row
  const added = addEvent(run, { type: 'subtask.created', ...subtask, after: row })
  const about = { entity, id: '', taskId: task }
  const sent = { path: `/tasks/${task}/subtasks`, body: { title: 'step' }, about, status: 201 }
  addRequest(run, { kind: 'subtask.add', text: viewOf(entity, added.after!), ...sent })
  addEvent(run, { type: 'task.deleted', before, after: null })
  addRequest(run, { kind: 'task.delete', path: `/tasks/${task}`, text: '{}' })
  const links = { undoes: 4, batch: 5 }
  const restored = addEvent(run, { type: 'task.created', before: null, after: before, ...links })
  const child = addEvent(run, { type: 'subtask.created', ...subtask, after: row, ...links })
  addUndo(run, { seq: 4 }, [restored, child])
  rows[1]!.row = restored.after!
  rows.push({ entity, row: child.after! })
  return run
}

type Change = (run: Run, last: LogEvent) => unknown

function errorsAfter(run: Run, change: Change = () => {}): string {
  change(run, run.evidence.events.at(-1)!)
  return violationsIn(run)
}

function updateResponse({ evidence, operations }: Run): void {
  const { text, key } = operations.at(-1)!
  const response = JSON.parse(text) as { changes: { id: string }[] }
  const { events, people, responses } = evidence
  const byId = new Map(events.map((event) => [event.id, event]))
  const changes = response.changes.map(({ id }): unknown => JSON.parse(eventJson(byId.get(id)!, people)))
  const body = JSON.stringify({ ...response, changes })
  operations.at(-1)!.text = body
  responses.get(key)!.body = body
}

const writing =
  (fields: Partial<Row>): Change =>
  (run, last) => {
    last.after = { ...last.after!, ...fields, eventId: last.id }
    Object.assign(run.evidence.rows.at(-1)!, { row: last.after })
    updateResponse(run)
  }
const naming =
  (seqs: number[]): Change =>
  ({ operations }) =>
    (operations.at(-1)!.body = { seqs })
const rejectedWith =
  (message: string): Change =>
  (run) => {
    const text = JSON.stringify({ statusCode: 409, message, error: 'Conflict' })
    const sent = { kind: 'undo', path: `/projects/${project}/undo`, body: { seq: 3 }, key: 'rejected' }
    addRequest(run, { ...sent, text, status: 409, about: aboutProject })
    run.evidence.responses.delete('rejected')
  }
const dryRun: Change = (run, last) => {
  const next = { ...last, seq: 5, id: idOf(77), undoes: 4 }
  const changes = [JSON.parse(eventJson(next, new Map())) as object]
  const path = `/projects/${project}/undo?dryRun=true`
  addUndo(run, { seq: 4 }, [last], { path, key: 'dry', text: JSON.stringify({ version: 4, changes }) })
}
const page =
  (seqs: number[]): Change =>
  ({ operations, evidence: { events, people } }) => {
    const text = `[${seqs.map((seq) => eventJson(events[seq - 1]!, people)).join()}]`
    const path = `/projects/${project}/history`
    const read = { kind: 'project.history', path, about: aboutProject, text, callerId: owner }
    operations.push({ ...readOf(2, 60, 65), ...read })
  }

test('accepts undos, dry runs, rejections and history pages that match the log', () => {
  expect(errorsAfter(undoneDeletion())).toBe('')
  const right = [
    dryRun,
    page([4, 3, 2, 1]),
    rejectedWith('Seq 3 cannot be undone: title changed since by seq 4'),
  ]
  for (const change of [undefined, ...right]) expect(errorsAfter(undoneUpdate(), change)).toBe('')
})

const wrongUpdates: Record<string, Change> = {
  'undo key 4': ({ evidence }) => evidence.events.pop(),
  'but no request asked for this undo': (run) => {
    const { type, before, after } = run.evidence.events[3]!
    addEvent(run, { type, before: { ...after! }, after: before, undoes: 3 })
  },
  'and another event both change the same version of a row': (run, { type, before, after }) =>
    addEvent(run, { type, before, after }),
  'has no idempotency record': ({ evidence }) => evidence.responses.delete('key 4'),
  'overwrote a later change of title': (run, last) => {
    last.before = { ...last.before!, title: 'later' }
    updateResponse(run)
  },
  'with a wrong title': writing({ title: 'another' }),
  'with a wrong status': writing({ status: 'DONE' }),
  'did not undo event 2': naming([2, 3]),
  'undid 3 without naming it': naming([2]),
  'wrote event 4 with the role null': (run, last) => {
    run.operations.at(-1)!.callerId = last.actorId = idOf(999)
    updateResponse(run)
  },
  'is a dry run, but its events are in the log': ({ operations }) =>
    (operations.at(-1)!.path += '?dryRun=true'),
  'was rejected: {"statusCode":409': rejectedWith('Seq 3 cannot be undone: title changed since by seq 2'),
  'returned {"seq":2': page([4, 2, 1]),
  'version 4 existed at 45.0 ms': page([3, 2, 1]),
}
test.each(Object.entries(wrongUpdates))('reports a wrong undo of an update: %s', (error, change) =>
  expect(errorsAfter(undoneUpdate(), change)).toContain(error),
)

const wrongDeletions: Record<string, Change> = {
  'which is not in the log': ({ evidence }) => evidence.events.pop(),
  'restored a row that differs from the deleted row': writing({ title: 'another' }),
  [`did not restore ${subtaskId} with its task`]: (run) => {
    const { evidence, operations } = run
    evidence.events.pop()
    evidence.rows.pop()
    evidence.streams[0]!.version = 5
    evidence.events.at(-1)!.batch = null
    operations.pop()
    addUndo(run, { seq: 4 }, [evidence.events.at(-1)!])
  },
}
test.each(Object.entries(wrongDeletions))('reports a wrong undo of a deletion: %s', (error, change) =>
  expect(errorsAfter(undoneDeletion(), change)).toContain(error),
)
