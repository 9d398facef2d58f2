import { expect, test } from 'bun:test'
import type { ImportOperation, TaskOperation } from '../../../modules/imports/command/operations.ts'
import { newId } from '../../../src/ids.ts'
import { make, versionOf } from '../../support/client.ts'
import { faultsOf } from '../../support/history.ts'
import { openProject, openTeam } from '../../http/scene.ts'
import { openImport, outcomesOf, taskOf } from './scene.ts'

const { service, people, owner, admin, editor, sql, countEvents } = await openTeam()
const createdAt = '2019-05-04T03:02:01.000Z'
const importedAuthor = 'Grace Hopper'

async function open(caller = editor) {
  const projectId = await openProject(people)
  const run = openImport(service, projectId, { userId: caller.id })
  const list = async (path: string) => (await editor.get(path)).body
  return { projectId, run, list, tasks: () => list(`/tasks?projectId=${projectId}`) }
}

test('creates labels, fields, tasks, subtasks, comments and links in one commit, with their times and authors', async () => {
  const { projectId, run, tasks, list } = await open(admin)
  const [labelId, fieldId, subtaskId, commentId] = [newId(), newId(), newId(), newId()]
  const values: Partial<TaskOperation> = {
    ...{ title: ' Wheels ', description: 'Large\n', dueDate: '2020-01-02', assigneeId: editor.id },
    ...{ labelIds: [labelId], fields: { size: 'small' } },
    status: 'DONE',
    priority: 'HIGH',
  }
  const task = taskOf(' JIRA-1 ', values, {
    createdAt: '2019-05-04T05:02:01+02:00',
    importedAuthor: ' Grace Hopper ',
  })
  const other = taskOf('JIRA-2')
  const version = await versionOf(owner, projectId)
  const answer = await run([
    { op: 'label', id: labelId, name: 'Brass', color: '#aabbcc' },
    { op: 'field', id: fieldId, key: 'size', name: 'Size', type: 'choice', options: ['small'] },
    ...[task, other],
    { op: 'subtask', id: subtaskId, taskId: task.id, title: 'Oil', completed: true, createdAt },
    { op: 'comment', id: commentId, taskId: task.id, text: ' Slow ', createdAt, importedAuthor },
    { op: 'references', id: task.id, addBlockedByIds: [other.id] },
  ])
  const created = [labelId, fieldId, task.id, other.id, subtaskId, commentId].map((id) => ({
    outcome: 'created' as const,
    id,
  }))
  expect(answer).toEqual({ batch: version + 1, results: [...created, { outcome: 'updated', id: task.id }] })
  const [first, second] = await tasks()
  expect(first).toMatchObject({
    ...{ ...values, id: task.id, number: 1, title: 'Wheels', description: 'Large', externalId: 'JIRA-1' },
    ...{ dueDate: '2020-01-02T00:00:00.000Z', createdAt, importedAuthor, blockedByIds: [other.id] },
  })
  expect(second).toMatchObject({ id: other.id, number: 2, importedAuthor: null })
  expect(second!.createdAt).toBe(second!.updatedAt)
  expect(first!.updatedAt).toBe(second!.updatedAt)
  expect(await list(`/tasks/${task.id}/subtasks`)).toMatchObject([
    { id: subtaskId, title: 'Oil', completed: true, createdAt },
  ])
  expect(await list(`/tasks/${task.id}/comments`)).toMatchObject([
    {
      id: commentId,
      text: 'Slow',
      createdAt,
      importedAuthor,
      authorId: admin.id,
      updatedAt: first!.updatedAt,
    },
  ])
  expect(await faultsOf(sql)).toEqual([])
})

test('repeated operations change nothing, and a changed value changes only this value', async () => {
  const { projectId, run, tasks } = await open()
  const [subtaskId, commentId] = [newId(), newId()]
  const operations = (title: string, values = {}): ImportOperation[] => {
    const task = taskOf('A', { title, ...values }, { createdAt, importedAuthor })
    return [{ op: 'label', id: newId(), name: title.length > 1 ? 'BRASS' : 'Brass' }, task]
  }
  const first = await run(operations('A', { description: 'D' }))
  const taskId = first.results[1]!.id
  const children = (text: string): ImportOperation[] => [
    { op: 'subtask', id: subtaskId, taskId, title: text, completed: text === 'B' },
    { op: 'comment', id: commentId, taskId, text },
  ]
  expect(outcomesOf(await run(children('A')))).toEqual(['created', 'created'])
  const events = await countEvents(projectId)
  const again = await run([...operations('A'), ...children('A')])
  expect(again).toEqual({
    results: [first.results[0]!.id, taskId, subtaskId, commentId].map((id) => ({ outcome: 'unchanged', id })),
  })
  expect(await countEvents(projectId)).toBe(events)
  const [before] = await tasks()
  const changed = await run([...operations('Bronze', { status: 'DONE' }), ...children('B')])
  expect(outcomesOf(changed)).toEqual(['unchanged', 'updated', 'updated', 'updated'])
  expect(await countEvents(projectId)).toBe(events + 3)
  const [after] = await tasks()
  expect(after).toEqual({ ...before!, title: 'Bronze', status: 'DONE', updatedAt: after!.updatedAt })
  expect(await faultsOf(sql)).toEqual([])
})

test('an operation that is rejected says why, and the others are committed', async () => {
  const { run, tasks } = await open()
  const other = await open()
  const elsewhere = await make(editor, '/tasks', { projectId: other.projectId, title: 'T', externalId: 'A' })
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
