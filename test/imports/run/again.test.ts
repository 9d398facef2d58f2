import { readCsv } from '../../../modules/imports/readers/csv-sources/csv.ts'
import { openRunImport } from '../../../workers/imports/run-import.ts'
import type { Person } from '../../kit.ts'
import { openRunScene, tasksOf } from './scene.ts'

const { newProject, importItems, queue, work, resultOf, services } = await openRunScene()
const runCsv = openRunImport(services, { readers: { planka: readCsv } })

async function importCsv(owner: Person, projectId: string, file: string, options = {}) {
  const id = await queue(owner, projectId, file, options)
  await work(id, undefined, runCsv)
  return resultOf(id)
}

test('a later file changes only the values that it contains', async () => {
  const { owner, projectId } = await newProject()
  const header = 'ID,Title,Description,Due date,Done,Labels,Size'
  await importCsv(owner, projectId, `${header}\n1,A,In brass,2030-01-01,yes,bug,3\n`)
  const [before] = await tasksOf(owner, projectId)
  await owner.patch(`/tasks/${before!.id}`, { priority: 'LOW' })
  const { counts } = await importCsv(owner, projectId, `${header}\n1,B,,2031-01-01,,,\n`)
  expect(counts).toMatchObject({ updated: 1 })
  const [after] = await tasksOf(owner, projectId)
  const changed = { title: 'B', dueDate: '2031-01-01T00:00:00.000Z', priority: 'LOW' }
  expect(after).toEqual({ ...before!, ...changed, updatedAt: after!.updatedAt })
})

test('replaces the text of an edited comment, and keeps rows that the file no longer contains', async () => {
  const { owner, projectId } = await newProject()
  const cell = (text: string) => `"2026-01-02T03:04:05.000Z Ada\n  ${text}"`
  const file = (title: string, ...texts: string[]) =>
    `ID,Title,Comments,Comment,Subtasks\n1,${title},${cell(texts[0]!)},${texts[1]},${texts[2]}\n`
  await importCsv(owner, projectId, file('A', 'Oil it', 'first', '[ ] one'))
  const { counts, lines } = await importCsv(owner, projectId, file('A', 'Oil them', 'second', '[x] two'))
  expect([counts, lines]).toEqual([{ read: 1, created: 0, updated: 1, unchanged: 0, rejected: 0 }, []])
  const { id } = (await tasksOf(owner, projectId))[0]!
  const comments = (await owner.get(`/tasks/${id}/comments`)).body
  expect(comments.map(({ text }) => text).sort()).toEqual(['Oil them', 'second'])
  const subtasks = (await owner.get(`/tasks/${id}/subtasks`)).body
  expect(subtasks.map(({ title, completed }) => [title, completed]).sort()).toEqual([
    ['one', false],
    ['two', true],
  ])
})

test('sets the description of a project that has none, and keeps another one', async () => {
  const { owner, projectId } = await newProject()
  const items = [{ kind: 'project' as const, row: 1, description: 'An engine' }]
  const descriptionOf = async () => (await owner.get(`/projects/${projectId}`)).body.description
  await importItems(owner, projectId, items)
  expect(await descriptionOf()).toBe('An engine')
  await owner.patch(`/projects/${projectId}`, { description: 'In brass' })
  await importItems(owner, projectId, items)
  expect(await descriptionOf()).toBe('In brass')
})
