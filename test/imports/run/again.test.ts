import { expect, test } from 'bun:test'
import { readCsv } from '../../../modules/imports/readers/csv-sources/csv.ts'
import { openRunImport } from '../../../workers/imports/run-import.ts'
import type { Person } from '../../support/client.ts'
import { task } from './items.ts'
import { openRunScene, tasksOf } from './scene.ts'

const { newProject, importItems, queue, work, resultOf, services } = await openRunScene()
const runCsv = openRunImport(services, { readers: { planka: readCsv } })

async function importCsv(owner: Person, projectId: string, file: string, options = {}) {
  const id = await queue(owner, projectId, file, options)
  await work(id, undefined, runCsv)
  return resultOf(id)
}

const full = {
  ...({ status: 'DONE', priority: 'HIGH', description: 'In brass', dueDate: '2030-01-01' } as const),
  ...{ remindAt: '2999-01-01', labels: ['bug'], fields: { size: '3', color: 'red' } },
}
const plain = {
  ...{ status: 'TODO', priority: 'MEDIUM', description: null, dueDate: null, remindAt: null },
  ...{ assigneeId: null, labelIds: [], fields: {} },
}

test('clears values that the source no longer has', async () => {
  const { owner, projectId } = await newProject()
  const assignee = { name: 'Me', email: owner.email }
  await importItems(owner, projectId, [task('1', { ...full, assignee })])
  const before = await tasksOf(owner, projectId)
  expect(before).toMatchObject([{ status: 'DONE', assigneeId: owner.id, fields: full.fields }])
  const dry = await importItems(owner, projectId, [task('1')], { dryRun: true })
  expect(await tasksOf(owner, projectId)).toEqual(before)
  const { counts } = await importItems(owner, projectId, [task('1')])
  expect([counts.updated, dry.counts]).toEqual([1, counts])
  expect(await tasksOf(owner, projectId)).toMatchObject([{ title: 'Task 1', ...plain }])
  const again = await importItems(owner, projectId, [task('1')])
  expect(again.counts).toMatchObject({ updated: 0, unchanged: 1 })
})

test('keeps values that somebody has changed since, and values of other sources', async () => {
  const { owner, projectId } = await newProject()
  await importItems(owner, projectId, [task('1', full), task('2')])
  const [one, two] = await tasksOf(owner, projectId)
  const edits = { dueDate: '2031-01-01T00:00:00.000Z', priority: 'LOW', fields: { size: 'large' } }
  await owner.patch(`/tasks/${one!.id}`, edits)
  await owner.patch(`/tasks/${two!.id}`, { description: 'Mine', dueDate: edits.dueDate })
  await importItems(owner, projectId, [task('1'), task('2')])
  expect(await tasksOf(owner, projectId)).toMatchObject([
    { ...plain, ...edits },
    { ...plain, description: 'Mine', dueDate: edits.dueDate },
  ])
})

test('an empty cell clears the value of the earlier import, and a missing column does not', async () => {
  const { owner, projectId } = await newProject()
  const header = 'ID,Title,Description,Due date,Done,Labels,Size'
  await importCsv(owner, projectId, `${header}\n1,A,In brass,2030-01-01,yes,bug,3\n2,B,,,,,4\n`)
  await importCsv(owner, projectId, 'ID,Title,Size\n1,A,\n2,B,4\n')
  const kept = { description: 'In brass', dueDate: '2030-01-01T00:00:00.000Z', status: 'DONE' }
  expect(await tasksOf(owner, projectId)).toMatchObject([{ ...kept, fields: {} }, { fields: { size: 4 } }])
  const { counts } = await importCsv(owner, projectId, `${header}\n1,A,,,no,,\n2,B,,,,,\n`)
  expect(counts).toMatchObject({ updated: 2 })
  expect(await tasksOf(owner, projectId)).toMatchObject([plain, plain])
})

test('clears the line about an assignee who has become a member, also without a description column', async () => {
  const { owner, projectId } = await newProject()
  const { owner: ada } = await newProject()
  const file = `ID,Title,Assignee,Assignee email\n1,A,Ada,${ada.email}\n`
  await importCsv(owner, projectId, file)
  expect(await tasksOf(owner, projectId)).toMatchObject([
    { description: `Assignee: Ada <${ada.email}>`, assigneeId: null },
  ])
  await owner.post(`/projects/${projectId}/members/invite`, { email: ada.email, role: 'EDITOR' })
  await importCsv(owner, projectId, file)
  expect(await tasksOf(owner, projectId)).toMatchObject([{ description: null, assigneeId: ada.id }])
})

test('clears the lines about a parent and a blocker that are now in the file, also without a description column', async () => {
  const { owner, projectId } = await newProject()
  const row = '1,A,9,8\n2,Part of A,1,\n3,Part of 2,2,\n'
  await importCsv(owner, projectId, `ID,Title,Parent,Blocked by\n${row}`)
  expect((await tasksOf(owner, projectId))[0]).toMatchObject({ description: 'Parent: 9\nBlocked by: 8' })
  await importCsv(owner, projectId, `ID,Title,Parent,Blocked by\n${row}8,Blocker,,\n9,Whole,,\n`)
  expect((await tasksOf(owner, projectId))[0]).toMatchObject({ title: 'A', description: null })
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
