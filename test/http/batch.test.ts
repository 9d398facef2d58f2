import { anId, expectError, faultsOf, invite, isReplay, make, newId, openUndoScene } from '../kit.ts'
import { register, unknownId, upTo } from '../kit.ts'
import type { Body } from '../kit.ts'
import { batchResult, newTask } from './batch-scene.ts'

let project: Body
let task: Body
const scene = await openUndoScene()
const { ada, bea, batch, events, sql } = scene
beforeEach(async () => void ({ project, task } = await scene.setUp()))
const update = (fields: object) => ({ op: 'task.update', id: task.id, ...fields })

test('a batch is one commit with consecutive seqs and one batch number, and each operation sees the effects of earlier operations', async () => {
  const operations = [
    newTask('First', { as: 'first', assigneeId: ada.id }),
    { op: 'subtask.create', taskId: '#first', title: 'Step', as: 'step' },
    { op: 'subtask.toggle', id: '#step' },
    { op: 'comment.create', taskId: '#first', text: 'Well', as: 'comment' },
    { op: 'comment.update', id: '#comment', text: 'Better' },
    { op: 'member.invite', email: bea.email, as: 'bea' },
    { op: 'member.set_role', memberId: '#bea', role: 'EDITOR' },
    update({ assigneeId: bea.id }),
    { op: 'project.update', name: 'Renamed' },
    { op: 'comment.delete', id: '#comment' },
    { op: 'task.delete', id: '#first' },
    newTask('Third'),
  ]
  const { version, results } = batchResult(await batch(operations))
  expect([version, results.length]).toEqual([14, operations.length])
  for (const { id } of results) expect(id).toEqual(anId as string)
  const numbers = results.flatMap(({ number }, n) => (number ? [[n, number]] : []))
  expect(numbers).toEqual([
    [0, 2],
    [7, 1],
    [11, 3],
  ])
  expect(results.slice(-3).map(({ etag }) => etag === null)).toEqual([true, true, false])
  const log = await events()
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, i) => i + 1))
  expect(log.slice(2).map((event) => event.batch)).toEqual(operations.map(() => 3))
  const { headers, body } = await ada.get(`/tasks/${task.id}`)
  expect([headers.get('etag'), body.assigneeId]).toEqual([results[7]!.etag, bea.id])
  expect((await ada.get(`/projects/${project.id}`)).headers.get('etag')).toBe(results[8]!.etag)
  expect(await faultsOf(sql)).toEqual([])
})

const move = 'projectId must be the project of the batch; a batch cannot move a task to another project'

test('projectId may be the #name of an operation that changes the project itself, but not of any other operation', async () => {
  const projectId = '#p'
  const operations = [
    { op: 'project.update', id: project.id, name: 'Renamed', as: 'p' },
    newTask('First', { projectId, as: 'first' }),
    { op: 'member.invite', projectId, email: bea.email },
    { op: 'task.update', id: '#first', projectId, status: 'DONE' },
    { op: 'project.update', id: projectId, description: 'Wheels' },
  ]
  expect(batchResult(await batch(operations)).version).toBe(7)
  const named = await batch([newTask('Other', { as: 'p' }), newTask('X', { projectId })])
  expectError(named, 400, `operations[1]: ${move}`)
  const unknown = 'operations[0]: projectId must be an id, or the #name of an earlier operation'
  expectError(await batch([newTask('X', { projectId })]), 400, unknown)
})

test('return=full returns each resource as its own read does, up to 500,000 bytes', async () => {
  const operations = [
    newTask('Whole', { as: 'new' }),
    { op: 'comment.create', taskId: '#new', text: 'Fine' },
    { op: 'member.invite', email: bea.email, as: 'bea' },
    { op: 'member.set_role', memberId: '#bea', role: 'ADMIN' },
    { op: 'project.update', description: 'Wheels' },
  ]
  const { results } = batchResult(await batch(operations, {}, '?return=full'))
  const [created, comment, , member, changed] = results
  const reads: [path: string, shown: unknown][] = [
    [`/tasks/${created!.id}`, created],
    [`/tasks/${created!.id}/comments`, [comment]],
    [`/projects/${project.id}/members`, [member]],
    [`/projects/${project.id}`, changed],
  ]
  for (const [path, shown] of reads) expect((await ada.get(path)).body as unknown).toEqual(shown)
  const long = upTo(30).map((n) => newTask(`Long ${n}`, { description: 'x'.repeat(20_000) }))
  const message = 'return=full returns at most 500000 bytes; send the batch without return=full'
  expectError(await batch(long, {}, '?return=full'), 400, message)
  expect(batchResult(await batch(long)).version).toBe(37)
})

test('a batch has 1 to 500 operations, and known parameters', async () => {
  const { version, results } = batchResult(await batch(upTo(500).map((n) => newTask(`Task ${n}`))))
  expect([version, results.at(-1)!.number]).toEqual([502, 501])
  const message = 'operations must be a list of 1 to 500 operations'
  for (const count of [0, 501]) expectError(await batch(upTo(count).map(() => newTask('X'))), 400, message)
  const updates = results.map(({ id }) => update({ id, was: { status: 'TODO' }, status: 'DONE' }))
  expect(batchResult(await batch(updates)).version).toBe(1_002)
  const parameters: [query: string, message: RegExp][] = [
    ...['1', 'yes', ''].map((one): [string, RegExp] => [
      `dryRun=${one}`,
      /^dryRun must be one of true, false$/,
    ]),
    ['return=x', /^return must be one of minimal, full$/],
    ['dry=true', /^dry is not known here/],
  ]
  for (const [query, error] of parameters)
    expectError(await batch([newTask('X')], {}, `?${query}`), 400, error)
  expectError(await scene.undo({ seq: 2 }, ada, '?dryRun='), 400, /^dryRun must be one of true, false$/)
})

test('checks was and ifMatch of each operation, and ifVersion and If-Match of the whole batch', async () => {
  const read = await ada.patch(`/tasks/${task.id}`, { dueDate: '2030-01-02', assigneeId: ada.id })
  // These are the stored values in other notations.
  const was = {
    ...read.body,
    ...{ id: task.id.toUpperCase(), assigneeId: ada.id.toUpperCase() },
    ...{ createdAt: task.createdAt.replace('Z', '+00:00'), dueDate: '2030-01-02T01:00+01:00' },
  }
  const first = { ...was, op: 'task.update', was, status: 'DONE' }
  const matching = { ...first, ifMatch: `W/${read.headers.get('etag')}` }
  const afterFirst = update({ was: { status: 'TODO' }, title: 'X' })
  const differs = 'operations[1]: The resource differs from "was" in: status'
  expectError(await batch([matching, afterFirst]), 409, differs)
  const message = 'The project does not have the version in ifVersion'
  for (const ifVersion of [1, 4]) expectError(await batch([first], { ifVersion }), 412, message)
  expect((await batch([first], {}, '', { 'if-match': '"other"' })).status).toBe(412)
  const { version, results } = batchResult(await batch([matching], { ifVersion: 3 }, '?return=full'))
  expect([version, results[0]!.id, results[0]!.status]).toEqual([4, task.id, 'DONE'])
  expectError(await batch([first], { ifVersion: 3 }), 412, message)
})

test('a batch that changes nothing does not change the version', async () => {
  const { version, results } = batchResult(await batch([update({ title: 'T' })]))
  const etag = (await ada.get(`/tasks/${task.id}`)).headers.get('etag')
  expect([version, results]).toEqual([2, [{ id: task.id, etag, number: 1 }] as never])
  expect(await events()).toHaveLength(2)
})

test('a dry run returns the result without a commit, and its idempotency key can be reused only for dry runs', async () => {
  const operations = [newTask('New', { as: 'new' }), { op: 'task.update', id: '#new', status: 'DONE' }]
  const { version, results } = batchResult(await batch(operations, {}, '?dryRun=true&return=full'))
  expect([version, results[1]!.status, results[1]!.number]).toEqual([2, 'DONE', 2])
  expectError(await batch([...operations, newTask('')], {}, '?dryRun=true'), 400, /^operations\[2\]: title/)
  expect(await events()).toHaveLength(2)
  const key = { 'idempotency-key': `batch-${project.id}` }
  expect(batchResult(await batch(operations, {}, '?dryRun=false', key)).version).toBe(4)
  expect(isReplay(await batch(operations, {}, '?dryRun=false', key))).toBeTrue()
  expect((await batch(operations, {}, '?dryRun=true', key)).status).toBe(422)
  expect(await events()).toHaveLength(4)
})

test('the seqs of a batch stay consecutive despite concurrent batches and single writes', async () => {
  const three = (n: number) => batch([newTask(`${n} a`), newTask(`${n} b`), newTask(`${n} c`)])
  const single = (n: number) => ada.post('/tasks', { title: `${n}`, projectId: project.id })
  const responses = await Promise.all(upTo(60).map((n) => (n % 2 ? three(n) : single(n))))
  for (const { status } of responses) expect(status).toBeLessThan(300)
  const log = await events()
  expect(log).toHaveLength(2 + 30 * 4)
  const batches = Map.groupBy(log, (event) => event.batch)
  batches.delete(null)
  expect(batches.size).toBe(30)
  for (const [first, inBatch] of batches)
    expect(inBatch.map(({ seq }) => seq)).toEqual([0, 1, 2].map((n) => first! + n))
  expect(await faultsOf(sql)).toEqual([])
})

test("an invalid operation rejects the whole batch with the operation's error and index", async () => {
  await invite(ada, project.id, bea, 'VIEWER')
  const otherProject = await make(ada, '/projects', { name: 'Q' })
  const otherTask = await make(ada, '/tasks', { title: 'T', projectId: otherProject.id })
  const before = await events()
  const title = 'a text of 1 to 500 characters, without control or bidirectional-override characters'
  const reference = 'taskId must be an id, or the #name of an earlier operation'
  const changed = 'The resource has changed: If-Match does not contain its current ETag'
  const wrongWas = { was: { status: 'DONE', title: 'U', number: 1 } }
  const invalid: [status: number, message: string, operation: object][] = [
    [400, `title is required: ${title}`, { op: 'task.create' }],
    [400, 'titel is not known here; did you mean title?', newTask('X', { titel: 'X' })],
    [400, move, newTask('X', { projectId: otherProject.id })],
    [400, move, update({ projectId: otherProject.id })],
    [400, reference, { op: 'subtask.create', taskId: '#other', title: 'S' }],
    [400, '"as" must be a name that no earlier operation has', newTask('X', { as: 'ok' })],
    [400, 'was.titel is not known here; did you mean title?', update({ was: { titel: 'T' } })],
    [404, 'Task not found', { op: 'task.update', id: otherTask.id, title: 'X' }],
    [404, 'Subtask not found', { op: 'subtask.toggle', id: '#ok' }],
    [404, 'Member not found', { op: 'member.remove', memberId: unknownId }],
    [409, 'The resource differs from "was" in: status, title', update(wrongWas)],
    [412, changed, { op: 'task.delete', id: task.id, ifMatch: '"other"' }],
  ]
  for (const [status, message, operation] of invalid) {
    const response = await batch([newTask('Fine', { as: 'ok' }), operation, newTask('After')])
    expectError(response, status, `operations[1]: ${message}`)
  }
  for (const op of ['project.create', 'project.delete', 'task.unassign', 'project.batch', '__proto__', 7])
    expectError(await batch([{ op, name: 'X' }]), 400, /^operations\[0\]: op must be the name of a command/)
  const notObject = 'operations[0]: The operation must be an object with the field op'
  for (const operation of [null, 7, 'task.create', []])
    expectError(await batch([operation as never]), 400, notObject)
  const byBea = (...operations: object[]) => batch(operations, {}, '', {}, bea)
  // The error must not depend on the row, which the caller may not change.
  for (const operation of [newTask('X'), update({ was: { title: 'Guess' } })])
    expectError(await byBea(operation), 403, 'operations[0]: This needs the role EDITOR in the project')
  const byStranger = await batch([newTask('X')], {}, '', {}, await register(scene.client))
  expectError(byStranger, 404, 'Project not found')
  expect(await events()).toEqual(before)
  // The caller needs the roles for all operations before the first operation runs.
  const { body: members } = await ada.get(`/projects/${project.id}/members`)
  const memberId = members[0]!.id
  await ada.patch(`/projects/${project.id}/members/${memberId}/role`, { role: 'EDITOR' })
  const missing = { op: 'task.update', id: unknownId, title: 'X' }
  const byEditor = await byBea(missing, { op: 'project.update', name: 'X' })
  expectError(byEditor, 403, 'operations[1]: This needs the role ADMIN in the project')
  const again = 'operations[1]: A member removed in a batch cannot be invited again in the same batch'
  const reinvite = { op: 'member.invite', email: bea.email }
  expectError(await batch([{ op: 'member.remove', memberId }, reinvite]), 409, again)
})

test('a batch cannot use the id of a row that it deleted, or of a child of this row, again', async () => {
  const [taskId, id] = [newId(), newId()]
  const parent = { op: 'task.create', id: taskId, title: 'Parent' }
  const children = ['subtask', 'comment'].map((entity) => ({
    ...{ op: `${entity}.create`, taskId, id },
    ...(entity === 'subtask' ? { title: 'Own' } : { text: 'Own' }),
  }))
  for (const child of children)
    for (const deletion of [
      { op: child.op.replace('create', 'delete'), id },
      { op: 'task.delete', id: taskId },
    ])
      for (const again of [{ ...child, taskId: task.id }, newTask('Own', { id })])
        expectError(
          await batch([parent, child, deletion, again]),
          409,
          /^operations\[3\]: This id is already used/,
        )
})

test('the id of a row that was deleted in the same group commit cannot be used again', async () => {
  for (const _ of upTo(20)) {
    const id = newId()
    const body = { id, title: 'Own', projectId: project.id }
    const withLookup = newTask('Its own id is looked up, as for the creates', { id: newId() })
    const [created, deleted, second] = await Promise.all([
      ada.post('/tasks', body),
      batch([withLookup, { op: 'task.delete', id }]),
      ada.post('/tasks', body),
    ])
    if (deleted.status === 200) expect([created.status, second.status].sort()).toEqual([201, 409])
  }
  expect(await faultsOf(sql)).toEqual([])
})
