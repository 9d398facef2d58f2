import { gzipSync } from 'node:zlib'
import type { ImportedItem } from '../../../modules/imports/items.ts'
import { make, upTo } from '../../kit.ts'
import { comment, task } from './items.ts'
import { fileOf, openRunScene, tasksOf } from './scene.ts'

const { newProject, importItems, queue, work, resultOf } = await openRunScene()

test('sorts imported tasks by their time of creation, and gives them the order of the file in the project', async () => {
  const { owner, projectId } = await newProject()
  const times = ['2021-01-01', '2020-01-01', '1960-01-01', undefined, '2020-01-01', 'soon', '2999-01-01']
  await importItems(
    owner,
    projectId,
    times.map((createdAt, n) => task(`${n + 1}`, { createdAt })),
  )
  const numbersOf = async (sort: string) =>
    (await owner.get(`/tasks?projectId=${projectId}&sort=${sort}`)).body.map(({ number }) => number)
  expect(await numbersOf('createdAt')).toEqual([3, 2, 5, 1, 4, 6, 7])
  expect(await numbersOf('position')).toEqual([1, 2, 3, 4, 5, 6, 7])
})

test('lines of the report have the outcome of the row, also if only its comments or blockers changed', async () => {
  const { owner, projectId } = await newProject()
  const file = [task('1', { blockedBy: ['2', '9', '1'], assignee: { name: 'Ada' } }), task('2'), task('3')]
  const report = async (more: ImportedItem[] = []) => {
    const { counts, lines } = await importItems(owner, projectId, [...file, ...more])
    return [counts, ...lines.map(({ row, outcome, message }) => [row, outcome, message])]
  }
  const lines = (outcome: string) => [
    [
      1,
      outcome,
      'The blocker 9 is not in the file. The assignee "Ada" is not a member of the project. At the foot of the description: Blocked by: 9; Assignee: Ada',
    ],
    [1, outcome, 'The task cannot block itself'],
  ]
  const counts = { read: 3, created: 0, updated: 0, unchanged: 0, rejected: 0 }
  expect(await report()).toEqual([{ ...counts, created: 3 }, ...lines('created')])
  expect(await report()).toEqual([{ ...counts, unchanged: 3 }, ...lines('unchanged')])
  const more = [comment('1', 'In brass')]
  expect(await report(more)).toEqual([{ ...counts, updated: 1, unchanged: 2 }, ...lines('updated')])
  const cycle = [task('2', { blockedBy: ['3'] }), task('3', { blockedBy: ['1'] })]
  file.splice(1, 2, ...cycle)
  expect((await report(more)).at(-1)).toEqual([3, 'unchanged', expect.stringContaining('cycle')])
})

test('finds people, statuses, labels and options in another Unicode form', async () => {
  const { owner, projectId } = await newProject()
  await owner.patch('/auth/me', { name: 'Zoë Müller' })
  const options = ['groß']
  await make(owner, `/projects/${projectId}/fields`, { key: 'size', name: 'Size', type: 'choice', options })
  await make(owner, `/projects/${projectId}/labels`, { name: 'Prüfung' })
  for (const [index, form] of ['NFC', 'NFD'].entries()) {
    const [zoe, other] = ['Zoë Müller', 'zoë\u00a0müller'].map((name) => name.normalize(form))
    const [list, label, size] = ['Prüfen', 'prüfung', 'groß'].map((name) => name.normalize(form))
    const values = { list, labels: [label!], fields: { size: size! } }
    const file = [zoe!, other!, 'Ma\u0308x'.normalize(form)].map((name, n) =>
      task(String(10 * index + n + 1), { ...values, assignee: { name } }),
    )
    const field: ImportedItem = {
      kind: 'field',
      row: 1,
      key: 'size',
      name: 'Size',
      type: 'choice',
      options: [size!],
    }
    const mapping = { statuses: { Prüfen: 'IN_PROGRESS' }, people: { Mäx: owner.email } } as const
    const { lines } = await importItems(owner, projectId, [field, ...file], { mapping })
    expect(lines).toEqual([])
  }
  const tasks = (await tasksOf(owner, projectId)) as object[]
  const expected = { assigneeId: owner.id, status: 'IN_PROGRESS', fields: { size: 'groß' } }
  expect(tasks).toMatchObject(Array(6).fill(expected))
  expect((await owner.get(`/projects/${projectId}/labels`)).body).toHaveLength(1)
})

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

test('adds as many lines of sub-items to a description as it has space for', async () => {
  const { owner, projectId } = await newProject()
  const parts = upTo(4_000).map((n) => task(`${n + 10}`, { parent: '1', labels: ['brass'] }))
  const id = await queue(owner, projectId, fileOf([task('1'), task('1', { row: 2 }), ...parts]))
  await work(id)
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts: { created: 1, rejected: 1 } })
  const [first] = await tasksOf(owner, projectId)
  expect(first!.description).toStartWith(
    'Subtask "Task 11": Labels: brass\nSubtask "Task 12": Labels: brass\n',
  )
  expect(String(first!.description).length).toBe(10_000)
  const list = await owner.get(`/tasks/${first!.id}/subtasks?limit=200`)
  expect(list.body.map(({ title }) => title)).toEqual(upTo(200).map((n) => `Task ${n + 10}`))
})

test('keeps the highest number that a task can have, without a statement for each number', async () => {
  const { owner, projectId } = await newProject()
  const number = 1_000_000_000
  expect(await importItems(owner, projectId, [task('1', { number })])).toMatchObject({ state: 'done' })
  expect(await tasksOf(owner, projectId)).toMatchObject([{ number }])
})

test.each<[string, string | Uint8Array, RegExp]>([
  ['a broken archive', gzipSync('x'.repeat(5_000)).subarray(0, 20), /gzip archive is broken/],
  ['an unexpected error of the reader', '{"kind":', /^The file cannot be read: /],
])('%s ends the import as failed, and changes nothing', async (_, file, error) => {
  const { owner, projectId } = await newProject()
  const id = await queue(owner, projectId, file)
  await work(id)
  const result = await resultOf(id)
  expect([result.state, result.counts.created]).toEqual(['failed', 0])
  expect(result.error).toMatch(error)
})
