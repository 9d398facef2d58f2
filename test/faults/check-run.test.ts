import { digest } from './check-lists.ts'
import { responseError } from './check-lists.ts'
import type { LogEvent, Row } from './evidence.ts'
import { proofLine } from './campaign.ts'
import { aboutProject, creationOf, eventAt, idOf, project, readOf } from './sample-run.ts'
import { StateRanges } from './history.ts'
import { errorsOfCopy } from '../support/postgres-backup.ts'
import { type Run, taskOf, validRun, verdictOf, violationsIn } from './sample-run.ts'

function errorsAfter(change: (run: Run) => unknown): string {
  const run = validRun()
  change(run)
  return violationsIn(run)
}

const notFound = { status: 404, text: 'Not Found', etag: null }
const orphan = { id: idOf(70), eventId: idOf(71), taskId: taskOf(2) }

test('accepts a valid run', () =>
  expect(errorsAfter(({ operations }) => operations.push(readOf(2, 19, 26), readOf(2, 100, 110)))).toBe(''))

const invalid: Record<string, (run: Run) => unknown> = {
  'key 4 /tasks {"title":"task 4"} is not in the log': ({ evidence }) => evidence.events.pop(),
  [`task ${taskOf(4)} is not stored, but the log has`]: ({ evidence }) => evidence.rows.pop(),
  'without an idempotency record': ({ evidence }) => evidence.responses.delete('key 3'),
  'has no request': ({ evidence }) => evidence.events.push(eventAt(5, idOf(50))),
  'has the same event as task.create key 4': ({ operations, evidence }) => {
    operations.push({ ...creationOf(eventAt(4)), key: 'another' })
    evidence.responses.set('another', evidence.responses.get('key 4')!)
  },
  'wrote a different title': ({ operations }) => (operations[2]!.body = { title: 'x' }),
  'returned {}': ({ operations }) => (operations[2]!.text = '{}'),
  'was rejected with 404, but took effect': ({ operations }) => Object.assign(operations[3]!, notFound),
  'wrote event 3 with the role null': ({ operations, evidence }) =>
    (operations[2]!.callerId = evidence.events[2]!.actorId = idOf(999)),
  // A task and a list that were read after a write was acknowledged, but without that write.
  'was rejected: Not Found': ({ operations }) => operations.push(readOf(3, 40, 45, notFound)),
  'version 3 existed at 35.0 ms': ({ operations }) => operations.push(listOf(2, 40, 45)),
  // A read that returns a write from after the read, versions that go back, and two events in the wrong order.
  'version 4 existed at 25.0 ms': ({ operations }) => operations.push(readOf(4, 20, 25)),
  'version 4 existed at 55.0 ms': ({ operations }) => {
    Object.assign(operations[3]!, { status: 0, end: Infinity })
    operations.push(readOf(4, 50, 55), listOf(3, 60, 65))
  },
  'version 2 did not exist before 100.0 ms': ({ operations }) =>
    Object.assign(operations[1]!, { start: 100, end: 105 }),
  'rows that no version of the project had': ({ operations }) =>
    operations.push({ ...listOf(3, 60, 65), text: digest('[]') }),
  'who is not a member': ({ operations }) => operations.push(readOf(3, 60, 65, { callerId: idOf(999) })),
  'has event 5 where 4 is expected': ({ evidence }) => (evidence.events[3]!.seq = 5),
  'has task number 7 where 3 is expected': ({ evidence }) => (evidence.events[3]!.after!.number = 7),
  'has version 3, but its last event is 4': ({ evidence }) => (evidence.streams[0]!.version = 3),
  'is stored, but the log has no such row': ({ evidence }) =>
    evidence.rows.push({ entity: 'subtask', row: orphan }),
  [`task ${taskOf(3)} is stored as`]: ({ evidence: { rows } }) =>
    (rows[2] = { entity: 'task', row: { ...rows[2]!.row, title: 'x' } }),
}
test.each(Object.entries(invalid))('reports an invalid run: %s', (error, change) =>
  expect(errorsAfter(change)).toContain(error),
)

function asBatch({ operations, evidence }: Run) {
  const written = evidence.events.slice(2)
  for (const event of written) event.batch = 3
  const body = { operations: written.map(({ after }) => ({ op: 'task.create', title: after!.title })) }
  const results = written.map(({ entityId: id, id: eventId }) => ({ id, etag: `"${eventId}"` }))
  const text = JSON.stringify({ version: 4, results })
  operations.splice(2, 2, { ...operations[2]!, kind: 'batch', body, status: 200, etag: null, text })
  evidence.responses.set('key 3', { status: 200, etag: null, body: text, xact: '3' })
}

const invalidBatches: typeof invalid = {
  'no event for its operation 1': ({ evidence }) => evidence.events.pop(),
  'are not contiguous': ({ evidence }) => (evidence.events[3]!.seq = 5),
  'with the batch null': ({ evidence }) => (evidence.events[3]!.batch = null),
  'has no request': ({ evidence }) => evidence.responses.delete('key 3'),
}
test.each(Object.entries(invalidBatches))('reports an invalid batch: %s', (error, change) => {
  expect(errorsAfter(asBatch)).toBe('')
  expect(errorsAfter((run) => (asBatch(run), change(run)))).toContain(error)
})

test('resolves an unknown outcome by the stored response', () => {
  const run = validRun()
  Object.assign(run.operations[3]!, { status: 0, end: Infinity, etag: null, text: '' })
  run.operations.push({ ...run.operations[3]!, key: 'never arrived' })
  expect(verdictOf(run)).toEqual({ violations: [], resolved: { applied: 1, notApplied: 1, late: 0 } })
})

test('reports rows, events and jobs that remain after their project is deleted', () => {
  const errors = errorsAfter(({ evidence }) => {
    const { after, ...created } = eventAt(1)
    const deletion = { seq: 5, id: idOf(5), type: 'project.deleted', before: after, after: null }
    evidence.events.push({ ...created, ...deletion })
    evidence.rows.shift()
    evidence.pendingJobs.push({ name: 'purge-project', projectId: project })
  })
  expect(errors).toContain(`task ${taskOf(2)} is an orphan`)
  expect(errors).toContain(`the stream of the deleted project ${project} remains`)
  expect(errors).toContain(`events of the deleted project ${project} remain`)
  expect(errors).toContain(`purge-project of ${project} is still pending`)
})

test('reports responses that break the documented contract', () => {
  const check = (status: number, body: unknown, headers = {}) =>
    responseError('POST', { status, text: JSON.stringify(body), headers: new Headers(headers) })
  const error = { statusCode: 503, message: 'Later', error: 'Service Unavailable' }
  const internal = { statusCode: 500, message: 'x', error: 'Internal Server Error' }
  expect(check(503, error, { 'retry-after': '1' })).toBeUndefined()
  expect(check(503, error)).toBe('returned 503 without Retry-After')
  expect(check(404, error)).toContain('returned 404 with the body')
  expect(check(500, internal)).toContain('returned 500')
  expect(check(200, {})).toBe('returned 200')
  expect(check(201, {})).toBeUndefined()
})

test('an undo ends a deletion only in its own project', () => {
  const child = { entity: 'subtask' as const, entityId: idOf(300), taskId: taskOf(2) }
  const row = { id: idOf(300), eventId: '', taskId: taskOf(2), title: 'step' } as Row
  const inProject = (projectId: string, seq: number, given: Partial<LogEvent>): LogEvent => ({
    ...{ ...eventAt(2), ...child, projectId, seq, before: row, after: row, ...given },
  })
  // In time: created, changed and changed back in B; the task moves to A, where the child is deleted, and restored later.
  const [a, b] = [idOf(10), idOf(20)]
  const deleted = { type: 'subtask.deleted' as const, after: null }
  const updated = { type: 'subtask.updated' as const }
  const events = [
    ...[inProject(a, 7, deleted), inProject(a, 9, { type: 'subtask.created', before: null, undoes: 7 })],
    ...[inProject(a, 12, deleted), inProject(b, 4, updated), inProject(b, 5, { ...updated, undoes: 4 })],
  ]
  expect(new StateRanges(events).deleted.get(child.entityId)).toEqual([
    { projectId: a, from: 7, before: 9 },
    { projectId: a, from: 12, before: Infinity },
  ])
})

test('the copy of a server fails for every reason except files that disappear meanwhile', () => {
  const gone = `cp: cannot stat '/pg/base/5/t1_2': No such file or directory\ncp: skipping file '/pg/x', as it was replaced while being copied\n`
  expect(errorsOfCopy(gone)).toEqual([])
  for (const reason of [
    "cp: error writing '/to/base/5/1': No space left on device",
    "cp: cannot create directory '/to/pg': No such file or directory",
    "cp: cannot open '/pg/PG_VERSION' for reading: Permission denied",
    'spawn cp ENOENT',
  ])
    expect(errorsOfCopy(`${gone}${reason}\n`)).toEqual([reason])
})

test('a run with a response for fewer than a quarter of its operations proves nothing', () => {
  const operations = (done: number, unknown: number) =>
    [...Array<number>(done).fill(200), ...Array<number>(unknown).fill(0)].map((status) => ({
      ...readOf(2, 0, 1),
      status,
    }))
  expect(proofLine({ operations: operations(713, 6_831) })).toContain('713 of 7544 operations (9 %)')
  expect(proofLine({ operations: operations(713, 6_831) })).toContain('proves nothing')
  expect(proofLine({ operations: [] })).toContain('proves nothing')
  expect(proofLine({ operations: operations(25, 75) })).not.toContain('proves nothing')
})

function listOf(version: number, start: number, end: number) {
  const rows = Array.from({ length: version - 1 }, (_, i) => readOf(i + 2, 0, 0).text)
  const path = `/tasks?projectId=${project}&limit=200`
  const response = { etag: `"${version}-${idOf(version)}"`, text: digest(`[${rows.join()}]`) }
  return { ...readOf(2, start, end), kind: 'task.list', path, about: aboutProject, ...response }
}
