import { expect, test } from 'bun:test'
import type { ImportOperation } from '../../../modules/imports/command/operations.ts'
import { newId } from '../../../src/ids.ts'
import { openProject, openTeam } from '../../http/scene.ts'
import { versionOf } from '../../support/client.ts'
import { faultsOf } from '../../support/history.ts'
import { forFile, openTestService } from '../../support/service.ts'
import { openImport, outcomesOf, taskOf } from './scene.ts'

const { service, people, owner, admin, editor, sql } = await openTeam()
const other = await forFile(openTestService(service.env))

async function open() {
  const projectId = await openProject(people)
  const run = openImport(service, projectId, { userId: admin.id })
  const tasks = async () => (await editor.get(`/tasks?projectId=${projectId}`)).body
  return { projectId, run, tasks, version: () => versionOf(owner, projectId) }
}

test('a repeated batch returns its first results and commits nothing, also in another process', async () => {
  const { projectId, run, tasks, version } = await open()
  const operations = [taskOf('A'), taskOf('', { title: 'B' })]
  const first = await run(operations, {}, `${projectId} tasks 0`)
  expect(outcomesOf(first)).toEqual(['created', 'rejected'])
  const [before, known] = [await tasks(), await version()]
  await editor.patch(`/tasks/${first.results[0]!.id}`, { title: 'Changed' })
  const elsewhere = openImport(other, projectId, { userId: admin.id })
  expect(await elsewhere(operations, {}, `${projectId} tasks 0`)).toEqual(first)
  expect(await run(operations, {}, `${projectId} tasks 0`)).toEqual(first)
  expect(await version()).toBe(known + 1)
  expect(await tasks()).toMatchObject([{ ...before[0], title: 'Changed', updatedAt: expect.any(String) }])
})

test('a batch that runs in two processes at the same time is committed once', async () => {
  const { projectId, run, tasks } = await open()
  const elsewhere = openImport(other, projectId, { userId: admin.id })
  const operations = Array.from({ length: 50 }, (_, n) => taskOf(`T${n}`))
  const answers = await Promise.all([run, elsewhere, run].map((one) => one(operations, {}, `${projectId} 0`)))
  expect(answers[1]).toEqual(answers[0]!)
  expect(answers[2]).toEqual(answers[0]!)
  expect(await tasks()).toHaveLength(50)
  expect(await faultsOf(sql)).toEqual([])
})

test('a dry run has the results of the real run, and commits nothing', async () => {
  const { projectId, run, tasks, version } = await open()
  await run([taskOf('A', { title: 'Old' }), { op: 'label', id: newId(), name: 'old' }])
  const [before, known] = [await tasks(), await version()]
  const labelId = newId()
  const b = taskOf('B', { fields: { size: 'large' } })
  const operations: ImportOperation[] = [
    { op: 'label', id: labelId, name: 'New' },
    { op: 'field', id: newId(), key: 'size', name: 'Size', type: 'number' },
    taskOf('B'),
    taskOf('A', { labelIds: [labelId], fields: { size: 3 } }),
    b,
    { op: 'subtask', id: newId(), taskId: b.id, title: 'S', completed: false },
    { op: 'label', id: newId(), name: 'NEW' },
  ]
  const dry = await run(operations, { dryRun: true }, `${projectId} dry`)
  expect(outcomesOf(dry).join(' ')).toBe('created created created updated rejected rejected unchanged')
  expect([await tasks(), await version()]).toEqual([before, known])
  // The key of the dry run is unused.
  const real = await run(operations, {}, `${projectId} dry`)
  expect(real).toEqual({ ...dry, batch: known + 1 })
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

test('the second of two tasks with the same external id in a batch changes the first', async () => {
  const { run, tasks } = await open()
  const { results } = await run([taskOf('A', { title: 'One' }), taskOf(' A', { title: 'Two' })])
  const { id } = results[0]!
  expect(results).toEqual([
    { outcome: 'created', id },
    { outcome: 'updated', id },
  ])
  expect(await tasks()).toMatchObject([{ id, title: 'Two' }])
})
