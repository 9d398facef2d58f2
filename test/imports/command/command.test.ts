import type { ImportOperation } from '../../../modules/imports/command/operations.ts'
import { findTasks, firstTask, kinds } from '../../../workers/timed-events.ts'
import { eventually, expectError, faultsOf, forFile, make, newId, openProject } from '../../kit.ts'
import { readFeed, registerTeam, upTo, versionOf } from '../../kit.ts'
import { openWebhooks } from '../../webhooks/scene.ts'
import { openImport, outcomesOf, taskOf } from './scene.ts'

const scene = await forFile((await openWebhooks())())
const { service, sql } = scene
const people = await registerTeam(service.client)
const { editor } = people
const get = async (path: string) => (await editor.get(path)).body

async function open() {
  const projectId = await openProject(people)
  const run = openImport(service, projectId, { userId: editor.id })
  return { projectId, run }
}

test('does not find external ids and ids of other projects', async () => {
  const projectId = await openProject(people)
  const task = await make(editor, '/tasks', { projectId, title: 'T', externalId: 'Elsewhere' })
  const { id } = await make(editor, `/tasks/${task.id}/comments`, { text: 'C' })
  const { run } = await open()
  const remark = { op: 'comment', id, taskId: task.id, text: 'X' } as const
  const here = taskOf('Elsewhere', { title: 'Here' })
  const { results } = await run([here, remark, { op: 'references', id: task.id }])
  const messages = [undefined, 'Task not found', 'Task not found']
  expect(results.map(({ message }) => message)).toEqual(messages)
  const taken = await run([{ ...remark, taskId: results[0]!.id }])
  const message = expect.stringContaining('already used')
  expect(taken.results).toMatchObject([{ outcome: 'rejected', message }])
  expect(await get(`/tasks/${task.id}`)).toEqual(task)
})

const createdAt = '2019-05-04T03:02:01.000Z'
const origin = { createdAt, importedAuthor: 'Grace Hopper' }

const childrenOf = (taskId: string): ImportOperation[] => [
  { op: 'subtask', id: newId(), taskId, title: 'S', completed: true, createdAt },
  { op: 'comment', id: newId(), taskId, text: 'C', ...origin },
]

test('the imported author is in events, in the past and after a move, and clients cannot change it', async () => {
  const { run, projectId } = await open()
  const { id } = (await run([taskOf('A', {}, origin)])).results[0]!
  await run(childrenOf(id))
  const version = await versionOf(editor, projectId)
  const [task, comments] = [await get(`/tasks/${id}`), await get(`/tasks/${id}/comments`)]
  expect([task, comments[0]]).toMatchObject([origin, origin])
  const events = await readFeed(editor, `/projects/${projectId}/events?after=4`)
  expect(events.map(({ after }) => after)).toMatchObject([origin, { createdAt }, origin])
  const importedAuthor = 'Someone'
  for (const [path, row] of [
    [`/tasks/${id}`, { ...task, title: 'N' }],
    [`/tasks/comments/${comments[0]!.id}`, { ...comments[0], text: 'N' }],
  ] as const)
    expect((await editor.patch(path, { ...row, importedAuthor })).body).toMatchObject(origin)
  expectError(await editor.patch(`/tasks/${id}`, { importedAuthors: 'Someone' }), 400)
  const to = await openProject(people)
  expect((await editor.patch(`/tasks/${id}`, { projectId: to })).body).toMatchObject(origin)
  expect((await get(`/tasks/${id}/comments`))[0]).toMatchObject(origin)
  const past = `projectId=${projectId}&asOf=${version}`
  expect(await get(`/tasks/${id}?${past}`)).toEqual(task)
  expect(await get(`/tasks/${id}/comments?${past}`)).toEqual(comments)
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
  const first = await run([taskOf('A', past), taskOf('B', future), taskOf('C')])
  expect(outcomesOf(first)).toEqual(['created', 'created', 'created'])
  expect(await due()).toEqual([])
  const again = [taskOf('A', { dueDate: '2021-01-01' }), taskOf('B', past), taskOf('C', past)]
  expect(outcomesOf(await run(again))).toEqual(['updated', 'updated', 'updated'])
  expect(await due()).toEqual([])
})

test('feed, webhooks, history and search contain the rows of a batch', async () => {
  const { ada, projectId, receiver } = scene
  await scene.hook()
  const run = openImport(service, projectId, { userId: ada.id })
  const { batch, results } = await run(upTo(150).map((n) => taskOf(`T${n}`)))
  const taskId = results[0]!.id
  await run([{ op: 'comment', id: newId(), taskId, text: 'Zirconium', ...origin }])
  await eventually('all events', () => receiver.seqs().length >= 151)
  const feed = await readFeed(ada, `/projects/${projectId}/events?after=${batch! - 1}`)
  expect(feed).toHaveLength(151)
  expect(feed.slice(0, 150).every((one) => one.batch === batch)).toBe(true)
  expect(receiver.received.flatMap(({ body }) => body.data.events)).toEqual(feed as never)
  const history = (await ada.get(`/tasks/${taskId}/history`)).body
  expect(history).toMatchObject([{ type: 'comment.created', after: origin }, { type: 'task.created' }])
  const found = (await ada.get(`/search?q=zirconium&projectId=${projectId}`)).body
  expect(JSON.stringify(found)).toContain(taskId)
})
