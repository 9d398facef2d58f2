import type { ImportOperation } from '../../../modules/imports/command/operations.ts'
import { expectError, faultsOf, forFile, make, newId, openProject, openTeam } from '../../kit.ts'
import { openTestService, readFeed, versionOf } from '../../kit.ts'
import { findTasks, firstTask, kinds } from '../../../workers/timed-events.ts'
import { openImport, outcomesOf, taskOf } from './scene.ts'

const { service, people, owner, editor, sql } = await openTeam()
const other = await forFile(openTestService(service.env))
async function open() {
  const projectId = await openProject(people)
  const run = openImport(service, projectId, { userId: editor.id })
  const tasks = async () => (await editor.get(`/tasks?projectId=${projectId}`)).body
  return { projectId, run, tasks }
}

test('an operation that is rejected says why, and the others are committed', async () => {
  const { run, tasks } = await open()
  const elsewhereId = await openProject(people)
  const elsewhere = await make(editor, '/tasks', { projectId: elsewhereId, title: 'T', externalId: 'A' })
  const [good, child] = [taskOf('A'), newId()]
  const of = (values: object, others = {}) => taskOf('B', values, others)
  const bad: [ImportOperation, RegExp][] = [
    [of({ title: ' ' }), /^title must be a text of 1 to 500 characters/],
    [of({ title: 'a\0' }), /^title must be/],
    [of({ description: 'x'.repeat(20_001) }), /^description must be a text of 0 to 20000/],
    [of({ status: 'LATER' }), /^status must be one of TODO/],
    [of({ dueDate: '2020-02-30' }), /^dueDate must be an ISO 8601/],
    [of({ remindAt: '2020-01-01' }), /^remindAt must be in the future/],
    [of({ assigneeId: people.stranger.id }), /^assigneeId must be the owner or a member/],
    [of({ labelIds: [newId()] }), /^labelIds must be the ids of labels in the project/],
    [of({ fields: { size: 1 } }), /^fields.size must be the key of a field/],
    [of({ titel: 'x' }), /^titel is not known here; did you mean title\?/],
    [of({}, { createdAt: 'yesterday' }), /^createdAt must be an ISO 8601/],
    [of({}, { importedAuthor: 'x'.repeat(201) }), /^importedAuthor must be a text of 1 to 200/],
    [of({}, { id: 'x' }), /^id must be/],
    [of({}, { externalId: 'a\0' }), /^externalId must be a text of 1 to 200/],
    [{ op: 'subtask', id: newId(), taskId: elsewhere.id, title: 'T', completed: false }, /^Task not found/],
    [{ op: 'comment', id: newId(), taskId: newId(), text: 'T' }, /^Task not found/],
    [{ op: 'comment', id: newId(), taskId: good.id, text: ' ' }, /^text must be a text of 1 to 20000/],
    [{ op: 'references', id: good.id, addBlockedByIds: [good.id] }, /must not contain the task itself/],
    [
      { op: 'references', id: good.id, addBlockedByIds: [elsewhere.id] },
      /must be the ids of tasks in the project/,
    ],
    [{ op: 'label', id: newId(), name: 'x'.repeat(51) }, /^name must be a text of 1 to 50/],
  ]
  const subtask = { op: 'subtask', id: child, taskId: good.id, title: 'T', completed: false } as const
  const { results } = await run([good, ...bad.map(([operation]) => operation), subtask])
  expect(results.map(({ outcome }) => outcome)).toEqual([
    'created',
    ...bad.map(() => 'rejected' as const),
    'created',
  ])
  for (const [n, [, message]] of bad.entries()) expect(results[n + 1]!.message).toMatch(message)
  expect(await tasks()).toMatchObject([{ id: good.id }])
  expect(await faultsOf(sql)).toEqual([])
})

test('a batch that runs in two processes at the same time, and again later, is committed once', async () => {
  const { projectId, run, tasks } = await open()
  const elsewhere = openImport(other, projectId, { userId: editor.id })
  const operations = Array.from({ length: 50 }, (_, n) => taskOf(`T${n}`))
  const answers = await Promise.all([run, elsewhere, run].map((one) => one(operations, {}, `${projectId} 0`)))
  expect(answers[1]).toEqual(answers[0]!)
  expect(answers[2]).toEqual(answers[0]!)
  const { id } = answers[0]!.results[0]!
  await editor.patch(`/tasks/${id}`, { title: 'Changed' })
  const version = await versionOf(owner, projectId)
  expect(await elsewhere(operations, {}, `${projectId} 0`)).toEqual(answers[0]!)
  expect(await versionOf(owner, projectId)).toBe(version)
  expect(await tasks()).toHaveLength(50)
  expect(await faultsOf(sql)).toEqual([])
})

test('a row that changed between two batches keeps its other values', async () => {
  const { run, tasks, projectId } = await open()
  const { results } = await run([taskOf('A', { title: 'A', description: 'D' })])
  const { id } = results[0]!
  await editor.patch(`/tasks/${id}`, { priority: 'HIGH', externalId: 'B' })
  await editor.post('/tasks', { projectId, title: 'Mine', externalId: 'A' })
  const again = await run([taskOf('B', { title: 'N' }), taskOf('A', { description: 'E' })])
  expect(outcomesOf(again)).toEqual(['updated', 'updated'])
  expect(await tasks()).toMatchObject([
    { id, title: 'N', description: 'D', priority: 'HIGH' },
    { title: 'A', description: 'E' },
  ])
  await editor.delete(`/tasks/${id}`)
  const late = await run([
    { op: 'comment', id: newId(), taskId: id, text: 'C' },
    taskOf('B', { title: 'New' }),
  ])
  expect(outcomesOf(late)).toEqual(['rejected', 'created'])
  expect(await faultsOf(sql)).toEqual([])
})

test('does not find external ids and ids of other projects', async () => {
  const other = await openProject(people)
  const task = await make(editor, '/tasks', { projectId: other, title: 'T', externalId: 'Elsewhere' })
  const { id } = await make(editor, `/tasks/${task.id}/comments`, { text: 'C' })
  const { run } = await open()
  const { results } = await run([
    taskOf('Elsewhere', { title: 'Here' }),
    { op: 'comment', id, taskId: task.id, text: 'X' },
    { op: 'references', id: task.id },
  ])
  const [created, ...others] = results
  expect(created!.outcome).toBe('created')
  expect(others.map(({ message }) => message)).toEqual(['Task not found', 'Task not found'])
  const taken = await run([{ op: 'comment', id, taskId: created!.id, text: 'X' }])
  expect(taken.results[0]).toMatchObject({
    outcome: 'rejected',
    message: expect.stringContaining('already used'),
  })
  expect((await editor.get(`/tasks/${task.id}`)).body).toEqual(task)
})

const importedAuthor = 'Grace Hopper'
const createdAt = '2019-05-04T03:02:01.000Z'
const origin = { createdAt, importedAuthor }
const get = async (path: string) => (await editor.get(path)).body

const childrenOf = (taskId: string): ImportOperation[] => [
  { op: 'subtask', id: newId(), taskId, title: 'S', completed: true, createdAt },
  { op: 'comment', id: newId(), taskId, text: 'C', ...origin },
]

test('a child that was deleted is created again with the same id', async () => {
  const { run, projectId } = await open()
  const { results } = await run([taskOf('A')])
  const children = childrenOf(results[0]!.id)
  const list = (name: string) => get(`/tasks/${results[0]!.id}/${name}`)
  const { batch } = await run(children)
  const [subtask, comment] = [await list('subtasks'), await list('comments')]
  await editor.post(`/projects/${projectId}/undo`, { batch })
  await editor.post(`/tasks/${results[0]!.id}/comments`, { text: 'Other' })
  expect(await run(children)).toMatchObject({
    results: children
      .map(({ op }) => ({ outcome: 'created', id: expect.any(String), op }))
      .map(({ op: _, ...one }) => one),
  })
  expect(await list('subtasks')).toEqual(subtask)
  expect(await list('comments')).toMatchObject([
    { ...comment[0]!, updatedAt: expect.any(String) },
    { text: 'Other' },
  ])
  expect(await faultsOf(sql)).toEqual([])
})

test('the imported author is in events, in the past and after a move, and clients cannot change it', async () => {
  const { run, projectId } = await open()
  const { results } = await run([taskOf('A', {}, origin)])
  const { id } = results[0]!
  await run(childrenOf(id))
  const version = await versionOf(editor, projectId)
  const [task, comments] = [await get(`/tasks/${id}`), await get(`/tasks/${id}/comments`)]
  expect([task, comments[0]]).toMatchObject([origin, origin])
  const events = await readFeed(editor, `/projects/${projectId}/events?after=4`)
  expect(events.map(({ after }) => after)).toMatchObject([origin, { createdAt }, origin])
  for (const [path, row] of [
    [`/tasks/${id}`, task],
    [`/tasks/comments/${comments[0]!.id}`, comments[0]!],
  ] as const) {
    const changed = { ...row, title: 'N', text: 'N', importedAuthor: 'Someone' }
    const { title: _, ...comment } = changed
    const { text: __, ...own } = changed
    const { body } = await editor.patch(path, 'taskId' in row ? comment : own)
    expect(body).toMatchObject(origin)
  }
  expectError(await editor.patch(`/tasks/${id}`, { importedAuthors: 'Someone' }), 400)
  const to = await openProject(people)
  expect((await editor.patch(`/tasks/${id}`, { projectId: to })).body).toMatchObject(origin)
  expect((await get(`/tasks/${id}/comments`))[0]).toMatchObject(origin)
  expect(await get(`/tasks/${id}?projectId=${projectId}&asOf=${version}`)).toEqual(task)
  expect(await get(`/tasks/${id}/comments?projectId=${projectId}&asOf=${version}`)).toEqual(comments)
  const made = await make(editor, '/tasks', { ...task, id: newId(), number: 9, projectId, externalId: null })
  expect(made).toMatchObject({ importedAuthor: null })
  expect(await faultsOf(sql)).toEqual([])
})

test('due dates that have passed cause no events, also when a later import sets them', async () => {
  const { run, projectId } = await open()
  const due = async () => {
    const found = await Promise.all(kinds.map((kind) => findTasks(sql, kind, firstTask, 1_000)))
    return found.flat().filter((one) => one.projectId === projectId)
  }
  const past = { dueDate: '2020-01-01' }
  const future = { dueDate: '2999-01-01', remindAt: '2999-01-01' }
  expect(outcomesOf(await run([taskOf('A', past), taskOf('B', future), taskOf('C')]))).not.toContain(
    'rejected',
  )
  expect(await due()).toEqual([])
  const again = [taskOf('A', { dueDate: '2021-01-01' }), taskOf('B', past), taskOf('C', past)]
  expect(outcomesOf(await run(again))).toEqual(['updated', 'updated', 'updated'])
  expect(await due()).toEqual([])
})
