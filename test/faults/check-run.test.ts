import { Webhook } from 'standardwebhooks'
import { make, newId, openWebs, type Person, Random, runBatch } from '../kit.ts'
import { checkRun } from './check-run.ts'
import { createArchive, readEvidence } from './evidence.ts'
import { eventIdIn, type Operation, proofOf } from './history.ts'
import { accept, receive } from './receivers.ts'
import { openRecorder, problemOf } from './recorder.ts'

const { env, webs, people, sql } = await openWebs([{}])
await createArchive(sql)
const recorder = openRecorder([webs[0]!.url], new Random(1))
const client = recorder.clientOf(people[0] as Person, { web: 0, timeoutMs: 60_000 })

/** Sends one request after another, and names them in the order of their operations. */
async function sendRequests(): Promise<string[]> {
  const { id: projectId } = await make(client, '/projects', { name: 'Engine' })
  const project = `/projects/${projectId}`
  const [one, two] = [
    await make(client, '/tasks', { projectId, title: 'One' }),
    await make(client, '/tasks', { projectId, title: 'Two' }),
  ]
  const task = `/tasks/${one.id}`
  const create = (title: string) => ({ op: 'task.create', title })
  await runBatch(client, projectId, [create('Three'), create('Four')])
  for (const _ of ['change', 'same']) await client.patch(task, { title: 'Changed' })
  await make(client, `${task}/subtasks`, { title: 'Part' })
  const { body } = await client.post(`${project}/claim-next`, { leaseSeconds: 600 })
  const { seq } = (body as typeof body & { claim: { seq: number } }).claim
  const headers = { 'docket-if-claim': `${body.id} ${seq}` }
  await client.post(`/tasks/${body.id}/comments`, { text: `claim ${seq}` }, headers)
  await client.post(`${project}/undo`, { seq: 6 })
  for (const path of [task, `/tasks?projectId=${projectId}&limit=200`, `${project}/history?limit=10`])
    await client.get(path)
  await client.get(`${task}/subtasks?limit=200`)
  await client.delete(`/tasks/${two.id}`)
  await client.get(`/tasks/${two.id}`)
  return [
    ...['project', 'one', 'two', 'batch', 'change', 'same', 'subtask', 'claim', 'comment', 'undo'],
    ...['task', 'list', 'history', 'subtasks', 'deletion', 'missing'],
  ]
}

const names = await sendRequests()
// No worker runs, so jobs remain.
await sql`delete from outbox`
const evidence = await readEvidence(env)

/** Returns a copy of the valid run, which a test may change. */
function openRun() {
  const run = structuredClone({ operations: recorder.operations, evidence })
  const request = (name: string): Operation => run.operations[names.indexOf(name)]!
  const { events, responses, rows } = run.evidence
  return {
    ...{ ...run, events, responses, rows, request },
    eventOf: (name: string) => events.find(({ id }) => id === eventIdIn(request(name).etag))!,
    eventsOfBatch: events.filter(({ batch }) => batch != null),
    last: Math.max(...run.operations.map(({ end }) => end)),
    taskRow: () => rows.find(({ entity }) => entity === 'task')!.row,
    /** Shows at this read what another request returned. */
    show: (name: string, other: string) => {
      const { etag, text } = request(other)
      Object.assign(request(name), { etag, text })
    },
  }
}
type Change = (run: ReturnType<typeof openRun>) => unknown

function errorsAfter(change: Change): string {
  const run = openRun()
  change(run)
  const { violations } = checkRun(run.operations, run.evidence)
  return violations.map(({ detail }) => detail).join('\n')
}

const stranger = newId()
const notFound = { status: 404, text: 'Not Found', etag: null }
const noResponse = { status: 0, end: Infinity, etag: null, text: '' }
const orphan = { id: newId(), eventId: newId(), taskId: newId() }
/** Removes one item of a list that a read returned. */
const omit = (operation: Operation, n: number) =>
  (operation.text = JSON.stringify((JSON.parse(operation.text) as unknown[]).toSpliced(n, 1)))

test('accepts a run whose responses match the log', () => {
  expect(names).toHaveLength(recorder.operations.length)
  expect(errorsAfter(() => {})).toBe('')
})

const wrongWrites: [error: string, change: Change][] = [
  ['is not in the log', ({ events, eventOf }) => events.splice(events.indexOf(eventOf('subtask')), 1)],
  ['is not in the log', ({ events, eventsOfBatch }) => events.splice(events.indexOf(eventsOfBatch[0]!), 1)],
  ['without an idempotency record', ({ responses, request }) => responses.delete(request('two').key)],
  [
    'has no request',
    ({ events }) => events.push({ ...events.at(-1)!, seq: events.length + 1, id: newId(), xact: '0' }),
  ],
  [
    'has the same event as',
    ({ operations, responses, request }) => {
      operations.push({ ...request('two'), key: 'another' })
      responses.set('another', responses.get(request('two').key)!)
    },
  ],
  ['wrote a different title', ({ request }) => (request('two').body = { title: 'x' })],
  ['wrote a different number', ({ request }) => (request('two').text = '{"number":7}')],
  ['was rejected with 404, but took effect', ({ request }) => Object.assign(request('two'), notFound)],
  [
    'with the role undefined',
    ({ request, eventOf }) => (request('two').callerId = eventOf('two').actorId = stranger),
  ],
  [
    'later events were known',
    ({ request, last }) => Object.assign(request('one'), { start: last + 1, end: last + 2 }),
  ],
  ['are not one batch', ({ eventsOfBatch }) => (eventsOfBatch[1]!.batch = null)],
  ['undo nothing', ({ events }) => (events.find(({ undoes }) => undoes != null)!.undoes = null)],
  ['is older than the event before', ({ eventOf }) => (eventOf('two').at = '2000-01-01')],
  ['which had ended', ({ eventOf }) => (eventOf('claim').after!.claimSeq = 99)],
  ['where 11 is expected', ({ events }) => (events.at(-1)!.seq = 99)],
  ['has task number 9 where 2 is expected', ({ eventOf }) => (eventOf('two').after!.number = 9)],
  ['but its last event is 11', ({ evidence }) => (evidence.streams[0]!.version = 3)],
  ['is not stored, but the log has', ({ rows }) => rows.pop()],
  [
    'has no such row',
    ({ rows, taskRow }) => rows.push({ entity: 'subtask', row: { ...orphan, taskId: taskRow().id } }),
  ],
  ['is an orphan', ({ rows }) => rows.push({ entity: 'subtask', row: orphan })],
  ['is stored as', ({ taskRow }) => (taskRow().title = 'x')],
  ['who is not a member', ({ taskRow }) => (taskRow().assigneeId = stranger)],
  ['is still pending', ({ evidence }) => evidence.pendingJobs.push({ name: 'purge', projectId: newId() })],
]
test.each(wrongWrites)('reports writes and rows that differ from the log: %s', (error, change) =>
  expect(errorsAfter(change)).toContain(error),
)

const wrongReads: [what: string, change: Change][] = [
  ['an old task', ({ show }) => show('task', 'one')],
  ['a task before its change', ({ request }) => Object.assign(request('task'), { start: 0, end: 1 })],
  ['404 for an existing task', ({ request }) => Object.assign(request('task'), notFound)],
  ['a task to a stranger', ({ request }) => (request('task').callerId = stranger)],
  ['a list without a task', ({ request }) => omit(request('list'), 1)],
  ['a page of the history without its newest event', ({ request }) => omit(request('history'), 0)],
  ['a page of the history without an event', ({ request }) => omit(request('history'), 3)],
  ['a list without a subtask', ({ request }) => omit(request('subtasks'), 0)],
  [
    'an old task in response to a change that writes nothing',
    ({ show, responses, request }) => {
      show('same', 'one')
      responses.get(request('same').key)!.etag = request('one').etag
    },
  ],
  [
    'a list that is older than an earlier read',
    ({ operations, request, last }) => {
      Object.assign(request('deletion'), noResponse)
      operations.push({ ...request('list'), start: last + 1, end: last + 2 })
    },
  ],
]
test.each(wrongReads)('reports a response that shows no state of its time: %s', (_, change) =>
  expect(errorsAfter(change)).toContain('which was not so then'),
)

test('resolves an unknown outcome by the stored response', () => {
  const { operations, evidence, request } = openRun()
  Object.assign(request('comment'), noResponse)
  operations.push({ ...request('comment'), key: 'never arrived' })
  const resolved = { applied: 1, notApplied: 1, late: 0 }
  expect(checkRun(operations, evidence)).toEqual({ violations: [], resolved })
})

test('reports rows and events that remain after their project is deleted', () => {
  const errors = errorsAfter(({ rows }) =>
    rows.splice(
      rows.findIndex(({ entity }) => entity === 'project'),
      1,
    ),
  )
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

test('a run with a response for fewer than a quarter of its operations proves nothing', () => {
  const proofs = [
    [24, 76],
    [0, 0],
    [25, 75],
  ].map(([done = 0, unknown = 0]) =>
    proofOf(
      [...Array<number>(done).fill(200), ...Array<number>(unknown).fill(0)].map((status) => ({ status })),
    ),
  )
  expect(proofs.map(({ isEnough }) => isEnough)).toEqual([false, false, true])
})
