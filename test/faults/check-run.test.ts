import { Webhook } from 'standardwebhooks'
import { errorsOfCopy } from '../support/postgres-backup.ts'
import { checkRun } from './check-run.ts'
import { eventJson, type Evidence, type LogEvent, type Row } from './evidence.ts'
import { type Operation, proofOf } from './history.ts'
import { accept, receive } from './receivers.ts'
import { listText, problemOf } from './recorder.ts'

interface Run {
  operations: Operation[]
  evidence: Evidence
}

const idOf = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`
const [project, owner, stranger] = [idOf(1_001), idOf(1_002), idOf(1_003)]
const taskOf = (seq: number) => idOf(100 + seq)

function eventAt(seq: number): LogEvent & { after: Row } {
  const id = idOf(seq)
  const shared = { projectId: project, seq, id, actorId: owner, at: 'now', xact: String(seq) }
  const common = { ...shared, batch: null, undoes: null, before: null }
  if (seq === 1) {
    const after = { id: project, eventId: id, ownerId: owner, name: 'project', createdAt: 'now' }
    return { ...common, type: 'project.created', entity: 'project', entityId: project, taskId: null, after }
  }
  const entityId = taskOf(seq)
  const texts = { title: `task ${seq}`, status: 'TODO', createdAt: 'now', updatedAt: 'now' }
  const after = { id: entityId, eventId: id, projectId: project, number: seq - 1, ...texts }
  return { ...common, type: 'task.created', entity: 'task', entityId, taskId: entityId, after }
}

const request = (start: number, end: number, more: Partial<Operation>): Operation => ({
  ...{ method: 'GET', path: '', callerId: owner, key: '', start, end },
  ...{ status: 200, etag: null, text: '', failures: [], ...more },
})

const creationOf = ({ seq, id, entity, after }: LogEvent & { after: Row }): Operation => {
  const body = entity === 'task' ? { title: after.title, projectId: project } : { name: after.name }
  const sent = { method: 'POST', path: `/${entity}s`, body, key: `key ${seq}` }
  const response = { status: 201, etag: `"${id}"`, text: JSON.stringify(after) }
  return request(seq * 10, seq * 10 + 5, { ...sent, ...response })
}

/** A run with one project: a request every ten milliseconds writes the next event. */
function validRun(): Run {
  const events = [1, 2, 3, 4].map(eventAt)
  const operations = events.map(creationOf)
  const record = ({ key, status, etag }: Operation, n: number) =>
    [key, { status, etag, body: '', xact: String(n + 1) }] as const
  return {
    operations,
    evidence: {
      ...{ events, rows: events.map(({ entity, after }) => ({ entity, row: after })), people: new Map() },
      responses: new Map(operations.map(record)),
      streams: [{ projectId: project, version: 4, lastNumber: 3 }],
      ...{ projectsWithEvents: [project], pendingJobs: [] },
    },
  }
}

type Change = (run: Run) => unknown

function errorsAfter(...changes: Change[]): string {
  const run = validRun()
  for (const change of changes) change(run)
  const { violations } = checkRun(run.operations, run.evidence)
  return violations.map(({ detail }) => detail).join('\n')
}

function readOf(seq: number, start: number, end: number, more: Partial<Operation> = {}): Operation {
  const { id, after } = eventAt(seq)
  const response = { etag: `"${id}"`, text: JSON.stringify(after) }
  return request(start, end, { path: `/tasks/${taskOf(seq)}`, ...response, ...more })
}

function listOf(version: number, start: number, end: number, text?: string): Operation {
  const tasks = [2, 3, 4].slice(0, version - 1).map((seq) => eventAt(seq).after)
  const path = `/tasks?projectId=${project}&limit=200`
  const listed = listText(tasks as unknown as Parameters<typeof listText>[0])
  return request(start, end, { path, etag: `"${version}-x"`, text: text ?? listed })
}

const pageOf =
  (seqs: number[], start: number): Change =>
  ({ operations, evidence: { events, people } }) => {
    const text = `[${seqs.map((seq) => eventJson(events[seq - 1]!, people)).join()}]`
    operations.push(request(start, start + 5, { path: `/projects/${project}/history`, text }))
  }

const adding =
  (...operations: Operation[]): Change =>
  (run) =>
    run.operations.push(...operations)

const notFound = { status: 404, text: 'Not Found', etag: null }
const orphan = { id: idOf(70), eventId: idOf(71), taskId: taskOf(2) }

test('accepts a run whose responses match the log', () => {
  const reads = [readOf(2, 19, 26), readOf(2, 100, 110), listOf(4, 100, 110)]
  expect(errorsAfter(adding(...reads), pageOf([4, 3, 2, 1], 60))).toBe('')
  expect(errorsAfter(asBatch)).toBe('')
})

/** The last two tasks are created by one batch. */
function asBatch({ operations, evidence }: Run): void {
  const written = evidence.events.slice(2)
  for (const event of written) event.batch = 3
  const body = { operations: written.map(({ after }) => ({ op: 'task.create', title: after!.title })) }
  const text = JSON.stringify({ version: 4, results: written.map(({ id }) => ({ etag: `"${id}"` })) })
  const path = `/projects/${project}/batch`
  operations.splice(2, 2, { ...operations[2]!, path, body, status: 200, etag: null, text })
  evidence.responses.set('key 3', { status: 200, etag: null, body: text, xact: '3' })
}

const invalid: [error: string, ...changes: Change[]][] = [
  ['is not in the log', ({ evidence }) => evidence.events.pop()],
  ['without an idempotency record', ({ evidence }) => evidence.responses.delete('key 3')],
  ['has no request', ({ evidence }) => evidence.events.push(eventAt(5))],
  [
    'has the same event as',
    ({ operations, evidence }) => {
      operations.push({ ...creationOf(eventAt(4)), key: 'another' })
      evidence.responses.set('another', evidence.responses.get('key 4')!)
    },
  ],
  ['wrote a different title', ({ operations }) => (operations[2]!.body = { title: 'x' })],
  ['wrote a different number', ({ operations }) => (operations[2]!.text = '{"number":7}')],
  ['was rejected with 404, but took effect', ({ operations }) => Object.assign(operations[3]!, notFound)],
  [
    'wrote event 3 with the role undefined',
    ({ operations, evidence }) => (operations[2]!.callerId = evidence.events[2]!.actorId = stranger),
  ],
  ['later events were known', ({ operations }) => Object.assign(operations[1]!, { start: 100, end: 105 })],
  // Reads without a write that was acknowledged before.
  ['which was not so then', adding(readOf(3, 40, 45, notFound))],
  ['which was not so then', adding(listOf(2, 40, 45))],
  ['which was not so then', pageOf([3, 2, 1], 60)],
  // Reads with a write from after the read, with rows of no version, and by a caller who is not a member.
  ['which was not so then', adding(readOf(4, 20, 25))],
  ['which was not so then', adding(listOf(3, 60, 65, '[]'))],
  ['which was not so then', adding(readOf(3, 60, 65, { callerId: stranger }))],
  ['which was not so then', pageOf([4, 2, 1], 60)],
  // A list that is older than an earlier read.
  [
    'which was not so then',
    ({ operations }) => Object.assign(operations[3]!, { status: 0, end: Infinity }),
    adding(readOf(4, 50, 55), listOf(3, 60, 65)),
  ],
  ['has event 5 where 4 is expected', ({ evidence }) => (evidence.events[3]!.seq = 5)],
  ['has task number 7 where 3 is expected', ({ evidence }) => (evidence.events[3]!.after!.number = 7)],
  ['has version 3, but its last event is 4', ({ evidence }) => (evidence.streams[0]!.version = 3)],
  ['is not stored, but the log has', ({ evidence }) => evidence.rows.pop()],
  ['has no such row', ({ evidence }) => evidence.rows.push({ entity: 'subtask', row: orphan })],
  ['is stored as', ({ evidence: { rows } }) => (rows[2]!.row = { ...rows[2]!.row, title: 'x' })],
  ['is still pending', ({ evidence }) => evidence.pendingJobs.push({ name: 'purge', projectId: project })],
  ['is not in the log', asBatch, ({ evidence }) => evidence.events.pop()],
  ['are not one batch', asBatch, ({ evidence }) => (evidence.events[3]!.batch = null)],
  ['undo nothing', asBatch, ({ operations }) => (operations[2]!.path = `/projects/${project}/undo`)],
]
test.each(invalid)('reports a run whose responses differ from the log: %s', (error, ...changes) =>
  expect(errorsAfter(...(changes as Change[]))).toContain(error),
)

test('resolves an unknown outcome by the stored response', () => {
  const { operations, evidence } = validRun()
  Object.assign(operations[3]!, { status: 0, end: Infinity, etag: null, text: '' })
  operations.push({ ...operations[3]!, key: 'never arrived' })
  const resolved = { applied: 1, notApplied: 1, late: 0 }
  expect(checkRun(operations, evidence)).toEqual({ violations: [], resolved })
})

test('reports rows and events that remain after their project is deleted', () => {
  const errors = errorsAfter(({ evidence }) => {
    const { after, ...created } = eventAt(1)
    evidence.events.push({
      ...created,
      seq: 5,
      id: idOf(5),
      type: 'project.deleted',
      before: after,
      after: null,
    })
    evidence.rows.shift()
  })
  for (const error of ['is an orphan', `the stream of the deleted`, `events of the deleted`])
    expect(errors).toContain(error)
})

test('reports responses that break the documented contract', () => {
  const check = (status: number, body: unknown, headers = {}) =>
    problemOf({ status, text: JSON.stringify(body), headers: new Headers(headers) })
  const error = { statusCode: 503, message: 'Later', error: 'Service Unavailable' }
  expect(check(503, error, { 'retry-after': '1' })).toBeUndefined()
  expect(check(201, {})).toBeUndefined()
  expect(problemOf({ status: 201, text: '', headers: new Headers() })).toBe('201 ""')
  expect(check(503, error)).toBe('503 without Retry-After')
  expect(check(404, error)).toStartWith('404')
  expect(check(500, { ...error, statusCode: 500 })).toStartWith('500')
})

test('reports deliveries of webhooks that are late, out of order, changed or not signed', () => {
  const secret = `whsec_${btoa('the secret of this one receiver')}`
  const receiver = { secret, last: 1, accepted: [], bodies: new Map<string, string>() }
  const send = (id: string, seqs: number[], sign = secret) => {
    const text = JSON.stringify({ data: { events: seqs.map((seq) => ({ seq })) } })
    const now = new Date()
    const headers = {
      ...{ 'webhook-id': id, 'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)) },
      'webhook-signature': new Webhook(sign).sign(id, now, text),
    }
    return { text, errors: receive(receiver, headers, text).join() }
  }
  const first = send('one', [2, 3])
  expect([first.errors, send('one', [2, 3]).errors]).toEqual(['', ''])
  expect(send('one', [2]).errors).toContain('again with another body')
  expect(send('two', [4]).errors).toBe('the events 4 after 1')
  accept(receiver, first.text)
  accept(receiver, first.text)
  expect(receiver).toMatchObject({ last: 3, accepted: [{ seq: 2 }, { seq: 3 }] })
  expect(send('three', [4, 6]).errors).toBe('the events 4,6 after 3')
  expect(send('four', [4], `whsec_${btoa('the secret of another receiver')}`).errors).toBe(
    'four with a wrong signature',
  )
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
  const statuses = (done: number, unknown: number) =>
    [...Array<number>(done).fill(200), ...Array<number>(unknown).fill(0)].map((status) => ({ status }))
  expect(proofOf(statuses(24, 76)).line).toContain('24 of 100 operations')
  expect([statuses(24, 76), [], statuses(25, 75)].map((all) => proofOf(all).isEnough)).toEqual([
    false,
    false,
    true,
  ])
})

test('the campaign starts outside the test runner, and rejects an unknown fault', () => {
  const words = ['--no-env-file', `${import.meta.dirname}/main.ts`, '--only', 'none']
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, ...words])
  expect([exitCode, String(stderr)]).toEqual([
    2,
    expect.stringContaining('--only must be one of: web killed'),
  ])
})
