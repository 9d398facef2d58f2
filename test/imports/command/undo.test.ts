import { expect, test } from 'bun:test'
import type { ImportOperation } from '../../../modules/imports/command/operations.ts'
import { findTasks, firstTask, kinds } from '../../../workers/timed-events/recorder.ts'
import { newId } from '../../../src/ids.ts'
import { readFeed } from '../../http/feed.ts'
import { expectError } from '../../http/responses.ts'
import { openProject, openTeam } from '../../http/scene.ts'
import { make, versionOf } from '../../support/client.ts'
import { faultsOf } from '../../support/history.ts'
import { openImport, outcomesOf, taskOf } from './scene.ts'

const { service, people, editor, sql } = await openTeam()
const importedAuthor = 'Grace Hopper'
const createdAt = '2019-05-04T03:02:01.000Z'
const origin = { createdAt, importedAuthor }

async function open() {
  const projectId = await openProject(people)
  const run = openImport(service, projectId, { userId: editor.id })
  const get = async (path: string) => (await editor.get(path)).body
  const undo = (batch?: number) => editor.post(`/projects/${projectId}/undo`, { batch })
  return { projectId, run, get, undo, tasks: () => get(`/tasks?projectId=${projectId}`) }
}

const childrenOf = (taskId: string): ImportOperation[] => [
  { op: 'subtask', id: newId(), taskId, title: 'S', completed: true, createdAt },
  { op: 'comment', id: newId(), taskId, text: 'C', ...origin },
]

test('a child that was deleted is created again with the same id', async () => {
  const { run, undo, get } = await open()
  const { results } = await run([taskOf('A')])
  const children = childrenOf(results[0]!.id)
  const list = (name: string) => get(`/tasks/${results[0]!.id}/${name}`)
  const { batch } = await run(children)
  const [subtask, comment] = [await list('subtasks'), await list('comments')]
  await undo(batch)
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
  const { run, get, projectId } = await open()
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
