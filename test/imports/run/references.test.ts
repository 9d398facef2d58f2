import { expect, test } from 'bun:test'
import type { ImportedItem } from '../../../modules/imports/items.ts'
import { task } from './items.ts'
import { openRunScene, tasksOf } from './scene.ts'

const { newProject, importItems } = await openRunScene()

const unchanged = (read: number) => ({ read, created: 0, updated: 0, unchanged: read, rejected: 0 })

test('adds a parent and blockers that are not in the file to the foot of the description', async () => {
  const { owner, projectId } = await newProject()
  const file: ImportedItem[] = [
    task('1', { description: 'In brass', parent: '9', blockedBy: ['8', '2', '8', '7', '3'] }),
    task('2'),
    task('3', { parent: '2' }),
  ]
  const { lines: planned } = await importItems(owner, projectId, file, { dryRun: true })
  const { lines } = await importItems(owner, projectId, file)
  expect(lines).toEqual(planned)
  expect(lines.map(({ message }) => message)).toEqual([
    'The blocker 8 is not in the file. The blocker 7 is not in the file. The blocker 3 became a subtask. The parent "9" is not in the file. At the foot of the description: Blocked by: 8; Blocked by: 7; Blocked by: 3; Parent: 9',
  ])
  const [one, two] = await tasksOf(owner, projectId)
  expect(one).toMatchObject({
    description: 'In brass\n\n---\nBlocked by: 8\nBlocked by: 7\nBlocked by: 3\nParent: 9',
    blockedByIds: [two!.id],
  })
  expect((await importItems(owner, projectId, file)).counts).toEqual(unchanged(2))
})

test('adds blockers above the limit to the foot of the description', async () => {
  const { owner, projectId } = await newProject()
  const keys = Array.from({ length: 52 }, (_, i) => `${i + 2}`)
  const file = [task('1', { blockedBy: keys }), ...keys.map((key) => task(key))]
  const { lines } = await importItems(owner, projectId, file)
  expect(lines.map(({ message }) => message)).toEqual([
    'The blocker 52 was left out: a task can have 50 blockers. The blocker 53 was left out: a task can have 50 blockers. At the foot of the description: Blocked by: 52; Blocked by: 53',
  ])
  const [one] = await tasksOf(owner, projectId)
  expect([one!.description, (one as unknown as { blockedByIds: string[] }).blockedByIds.length]).toEqual([
    'Blocked by: 52\nBlocked by: 53',
    50,
  ])
  expect((await importItems(owner, projectId, file)).counts).toEqual(unchanged(53))
})

test('links a blocker that only the project has', async () => {
  const { owner, projectId } = await newProject()
  const file = [task('1', { blockedBy: ['2'] })]
  await importItems(owner, projectId, file)
  expect(await tasksOf(owner, projectId)).toMatchObject([{ description: 'Blocked by: 2', blockedByIds: [] }])
  await importItems(owner, projectId, [task('2')])
  const { lines: planned } = await importItems(owner, projectId, file, { dryRun: true })
  const { lines } = await importItems(owner, projectId, file)
  expect([planned, lines]).toEqual([[], []])
  const [one, two] = await tasksOf(owner, projectId)
  expect(one).toMatchObject({ blockedByIds: [two!.id] })
})
