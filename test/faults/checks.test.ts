import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { blinded } from './blinding.ts'
import { flawOf } from './check-answers.ts'
import { digest } from './check-lists.ts'
import { fact, honest, idOf, owner, project, read, taskOf, type Told, verdictOn, write } from './given.ts'

function found(spoil: (told: Told) => unknown): string {
  const told = honest()
  spoil(told)
  return verdictOn(told)
    .violations.map(({ check, detail }) => `${check}: ${detail}`)
    .join('\n')
}

test('an honest run is found to be one', () => {
  const reads = ({ operations }: Told) => operations.push(read(2, 19, 26), read(2, 100, 110))
  expect(found(reads)).toBe('')
})

const gone = { status: 404, text: 'Not Found', etag: null }
const orphan = { id: idOf(70), eventId: idOf(71), taskId: taskOf(2) }
/** Each finding, and a change of an honest run that leads to it. */
const spoilt: Record<string, (told: Told) => unknown> = {
  'key 4 /tasks {"title":"task 4"} is nowhere in the history': ({ evidence }) => evidence.facts.pop(),
  [`task ${taskOf(4)} is lost`]: ({ evidence }) => evidence.rows.pop(),
  'left no answer under its key': ({ evidence }) => evidence.kept.delete('key 3'),
  "was done by nobody's request": ({ evidence }) => evidence.facts.push(fact(5, idOf(50))),
  'is the same event as task.create key 4': ({ operations, evidence }) => {
    operations.push({ ...write(fact(4)), key: 'another' })
    evidence.kept.set('another', evidence.kept.get('key 4')!)
  },
  'left other title': ({ operations }) => (operations[2]!.body = { title: 'x' }),
  'was answered {}': ({ operations }) => (operations[2]!.text = '{}'),
  'was refused with 404 and took effect': ({ operations }) => Object.assign(operations[3]!, gone),
  // A read, and a list, miss an acknowledged write.
  'was refused: Not Found': ({ operations }) => operations.push(read(3, 40, 45, gone)),
  'version 3 stood at 35.0 ms': ({ operations }) => operations.push(listed(2, 40, 45)),
  // A read shows what was asked only after it; versions go back; two events stand in the wrong order.
  'version 4 stood at 25.0 ms': ({ operations }) => operations.push(read(4, 20, 25)),
  'version 4 stood at 55.0 ms': ({ operations }) => {
    Object.assign(operations[3]!, { status: 0, end: Infinity })
    operations.push(read(4, 50, 55), listed(3, 60, 65))
  },
  'version 2 came only after 100.0 ms': ({ operations }) =>
    Object.assign(operations[1]!, { start: 100, end: 105 }),
  'never looked like': ({ operations }) => operations.push({ ...listed(3, 60, 65), text: digest('[]') }),
  'a stranger': ({ operations }) => operations.push(read(3, 60, 65, { callerId: idOf(999) })),
  'event 5 stands where 4 belongs': ({ evidence }) => (evidence.facts[3]!.seq = 5),
  'task number 7 stands where 3 belongs': ({ evidence }) => (evidence.facts[3]!.after!.number = 7),
  'is at version 3, its last event is 4': ({ evidence }) => (evidence.streams[0]!.version = 3),
  'its history says that it is gone': ({ evidence }) =>
    evidence.rows.push({ entity: 'subtask', row: orphan }),
  'and not': ({ evidence: { rows } }) => (rows[2] = { entity: 'task', row: { ...rows[2]!.row, title: 'x' } }),
}
test.each(Object.entries(spoilt))('a spoilt run is found: %s', (finding, spoil) =>
  expect(found(spoil)).toContain(finding),
)

test('a batch that stands by half, with other writes between or not as one, is told', () => {
  const together = ({ operations, evidence }: Told) => {
    const made = evidence.facts.slice(2)
    for (const one of made) one.batch = 3
    const asked = made.map(({ after }) => ({ op: 'task.create', title: after!.title }))
    const results = made.map(({ entityId: id, id: eventId }) => ({ id, etag: `"${eventId}"` }))
    const text = JSON.stringify({ version: 4, results })
    const told = { kind: 'batch', body: { operations: asked }, status: 200, etag: null, text }
    operations.splice(2, 2, { ...operations[2]!, ...told })
    evidence.kept.set('key 3', { status: 200, etag: null, body: text, xact: '3' })
  }
  expect(found(together)).toBe('')
  const spoilt = (spoil: (told: Told) => void) => found((told) => (together(told), spoil(told)))
  expect(spoilt(({ evidence }) => void evidence.facts.pop())).toContain('did not make what its operation 1')
  expect(spoilt(({ evidence }) => void (evidence.facts[3]!.seq = 5))).toContain('is not in one piece')
  expect(spoilt(({ evidence }) => void (evidence.facts[3]!.batch = null))).toContain('of the batch null')
  expect(spoilt(({ evidence }) => void evidence.kept.delete('key 3'))).toContain('by nobody')
})

test('what nobody was told is resolved by the answer kept', () => {
  const told = honest()
  Object.assign(told.operations[3]!, { status: 0, end: Infinity, etag: null, text: '' })
  told.operations.push({ ...told.operations[3]!, key: 'never arrived' })
  expect(verdictOn(told)).toEqual({ violations: [], resolved: { applied: 1, notApplied: 1, late: 0 } })
})

test('what a cascade left behind is told', () => {
  const spoil = ({ evidence }: Told) => {
    const { after, ...created } = fact(1)
    const end = { seq: 5, id: idOf(5), type: 'project.deleted', before: after, after: null }
    evidence.facts.push({ ...created, ...end })
    evidence.rows.shift()
    evidence.owed.push({ name: 'purge-project', projectId: project })
  }
  const told = found(spoil)
  expect(told).toContain(`task ${taskOf(2)} is an orphan`)
  expect(told).toContain(`the stream of the deleted project ${project} is left`)
  expect(told).toContain(`events of the deleted project ${project} are left`)
  expect(told).toContain(`purge-project of ${project} is still owed`)
})

test('answers that no contract knows are told', () => {
  const answer = (status: number, body: unknown, headers = {}) =>
    flawOf('POST', { status, text: JSON.stringify(body), headers: new Headers(headers) })
  const error = { statusCode: 503, message: 'Later', error: 'Service Unavailable' }
  expect(answer(503, error, { 'retry-after': '1' })).toBeUndefined()
  expect(answer(503, error)).toBe('answered 503 without Retry-After')
  expect(answer(404, error)).toContain('in the shape')
  expect(answer(500, { statusCode: 500, message: 'x', error: 'Internal Server Error' })).toContain(
    'answered 500',
  )
  expect(answer(200, {})).toBe('answered 200')
  expect(answer(201, {})).toBeUndefined()
})

test('the comparison that is switched off to show that all this can fail is still where it was', () => {
  const path = join(import.meta.dirname, '../../src/commit/statement.ts')
  expect(blinded(readFileSync(path, 'utf8'))).not.toMatch(/(version|event_id).* h\."?expected/)
})

/** Somebody lists the project's tasks and sees it as it was at a version. */
function listed(version: number, start: number, end: number) {
  const rows = Array.from({ length: version - 1 }, (_, i) => read(i + 2, 0, 0).text)
  const path = `/tasks?projectId=${project}&limit=200`
  const about = { entity: 'project' as const, id: project, projectId: project }
  const told = { etag: `"${version}-${idOf(version)}"`, text: digest(`[${rows.join()}]`) }
  return { ...read(2, start, end), kind: 'task.list', callerId: owner, path, about, ...told }
}
