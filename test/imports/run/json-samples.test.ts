import { expect, test } from 'bun:test'
import { openRunImport } from '../../../workers/imports/run-import.ts'
import { samples, textOf } from '../readers/json-samples.ts'
import type { Person } from '../../support/client.ts'
import { openRunScene, tasksOf } from './scene.ts'

const { services, sql, newProject, queue, work, resultOf } = await openRunScene()
const execute = openRunImport(services)

async function importFile(owner: Person, projectId: string, source: string, text: string) {
  const id = await queue(owner, projectId, text)
  await sql`update imports set source = ${source} where id = ${id}`
  await work(id, undefined, execute)
  return resultOf(id)
}

test.each([...samples])(
  'imports $file, and a second import of the file changes nothing',
  async ({ source, file }) => {
    const { owner, projectId } = await newProject()
    const text = await textOf(file)
    const first = await importFile(owner, projectId, source, text)
    expect(first).toMatchObject({
      state: 'done',
      error: null,
      counts: { updated: 0, unchanged: 0, rejected: 0 },
    })
    const { read, created } = first.counts
    expect(created).toBe(read)
    const tasks = await tasksOf(owner, projectId)
    expect(tasks.length).toBeGreaterThan(0)
    const ids = (tasks as unknown as { externalId: string }[]).map(({ externalId }) => externalId)
    expect(ids.filter((id) => !id.startsWith(`${source}:`))).toEqual([])
    const again = await importFile(owner, projectId, source, text)
    expect(again).toMatchObject({
      state: 'done',
      counts: { read, created: 0, updated: 0, unchanged: read, rejected: 0 },
    })
    expect(await tasksOf(owner, projectId)).toEqual(tasks)
  },
)

test('a Trello board keeps its order, checklists, comments, fields and notes', async () => {
  const { owner, projectId } = await newProject()
  const { lines } = await importFile(owner, projectId, 'trello', await textOf('trello.json'))
  const tasks = await tasksOf(owner, projectId)
  expect(tasks.map(({ title, status }) => [title, status])).toEqual([
    ['Draw the plate', 'TODO'],
    ['Polish', 'TODO'],
    ['Order brass', 'DONE'],
  ])
  const [draw] = tasks
  expect(draw).toMatchObject({
    createdAt: '2023-11-14T22:14:20.000Z',
    dueDate: '2024-01-31T17:00:00.000Z',
    fields: { estimate: 2.5, size: 'large', deadline: '2024-02-01', estimate_2: true },
    description: expect.stringContaining('Also assigned: grace'),
  })
  expect((await owner.get(`/tasks/${draw!.id}/subtasks`)).body).toMatchObject([
    { title: 'Tools: Pen', completed: true },
    { title: 'Paper: A1', completed: false },
  ])
  expect((await owner.get(`/tasks/${draw!.id}/comments`)).body).toMatchObject([
    { text: 'Oil it too', importedAuthor: 'Grace Hopper', createdAt: '2023-11-15T10:00:00.000Z' },
  ])
  expect(lines.map(({ message }) => message).join('\n')).toContain(
    'has only the date of 2024-02-01T09:00:00.000Z',
  )
})
