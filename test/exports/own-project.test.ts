import { expect, test } from 'bun:test'
import { make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { examined, importInto, makeEverything } from './everything.ts'
import { exported } from './scene.ts'

const { service, ada, bea } = await openScene(['Ada', 'Bea'])
service.startWorkers()

const importCsv = async (projectId: string, file: string) =>
  (await importInto(ada, projectId, file, 'source=csv')).counts

test('a CSV export imported into its own project finds the tasks, subtasks and comments', async () => {
  const projectId = await makeEverything(ada, bea)
  const before = examined(await exported(ada, projectId))
  const file = await exported(ada, projectId, 'format=csv')
  expect(await importCsv(projectId, file)).toMatchObject({
    created: 0,
    updated: 0,
    unchanged: 9,
    rejected: 0,
  })
  expect(examined(await exported(ada, projectId))).toEqual(before)

  // Values of the file, also empty values, replace changed values.
  const tasks = (await ada.get(`/tasks?projectId=${projectId}`)).body
  const moved = tasks.find(({ title }) => title === 'Written by Bea')
  const other = tasks.find(({ title }) => title === 'Moved')
  await ada.patch(`/tasks/${moved!.id}`, { title: 'Changed', externalId: 'OTHER-1', dueDate: '2030-01-01' })
  await ada.patch(`/tasks/${other!.id}`, { fields: { unused: 'now used' }, description: 'Changed' })
  const [comment] = (await ada.get(`/tasks/${moved!.id}/comments`)).body
  await ada.patch(`/tasks/comments/${comment!.id}`, { text: 'Changed' })
  const [subtask] = (await ada.get(`/tasks/${moved!.id}/subtasks`)).body
  await ada.patch(`/tasks/subtasks/${subtask!.id}`, { completed: !subtask!.completed })
  expect(await importCsv(projectId, file)).toMatchObject({
    created: 0,
    updated: 2,
    unchanged: 7,
    rejected: 0,
  })
  expect(examined(await exported(ada, projectId))).toEqual(before)
}, 60_000)

test('a CSV file without the column of a field does not change the values of the field', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  for (const key of ['size', 'note'])
    await make(ada, `/projects/${projectId}/fields`, { key, name: key, type: 'text' })
  const fields = { size: 'large', note: 'In brass' }
  await make(ada, '/tasks', { projectId, title: 'Oil', dueDate: '2030-01-01', fields })
  const file = await exported(ada, projectId, 'format=csv')
  const edited = file
    .replace(',field.note', '')
    .replace(',In brass', '')
    .replace(/2030-01-01[^,]*/, '')
  expect(await importCsv(projectId, edited.replace('large', ''))).toMatchObject({ updated: 1, created: 0 })
  const [task] = (await ada.get(`/tasks?projectId=${projectId}`)).body
  const { fields: kept, ...rest } = task as typeof task & { fields: object }
  expect([rest, kept]).toEqual([
    expect.objectContaining({ title: 'Oil', dueDate: null }),
    { note: 'In brass' },
  ])
}, 60_000)
