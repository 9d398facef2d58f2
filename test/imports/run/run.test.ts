import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import type { ImportedItem } from '../../../modules/imports/items.ts'
import type { Reader } from '../../../modules/imports/readers/file.ts'
import { openRunImport } from '../../../workers/imports/run-import.ts'
import { findTasks, firstTask, kinds } from '../../../workers/timed-events.ts'
import { cases, expectError, faultsOf, make, newId, type Person, readFeed } from '../../kit.ts'
import { SliceEnded, until, upTo, versionOf } from '../../kit.ts'
import { comment, fast, fileOf, openRunScene, subtask, task, tasksOf } from './scene.ts'

const scene = await openRunScene()
const { newProject, importItems, queue, work, execute, resultOf, services, sql } = scene

const messagesOf = ({ lines }: Awaited<ReturnType<typeof importItems>>) => lines.map(({ message }) => message)
const unchanged = (read: number) => ({ read, created: 0, updated: 0, unchanged: read, rejected: 0 })

test('sorts imported tasks by their time of creation, and gives them the order of the file in the project', async () => {
  const { owner, projectId } = await newProject()
  const times = ['2021-01-01', '2020-01-01', '1960-01-01', undefined, '2020-01-01', 'soon', '2999-01-01']
  const items = times.map((createdAt, n) => task(`${n + 1}`, { createdAt }))
  await importItems(owner, projectId, items)
  const numbersOf = async (sort: string) =>
    (await owner.get(`/tasks?projectId=${projectId}&sort=${sort}`)).body.map(({ number }) => number)
  expect(await numbersOf('createdAt')).toEqual([3, 2, 5, 1, 4, 6, 7])
  expect(await numbersOf('position')).toEqual([1, 2, 3, 4, 5, 6, 7])
})

test('the imported author is in events, in the past and after a move, and clients cannot change it', async () => {
  const { owner, projectId } = await newProject()
  const [createdAt, importedAuthor] = ['2019-05-04T03:02:01.000Z', 'Grace Hopper']
  const [origin, from] = [
    { createdAt, importedAuthor },
    { createdAt, author: { name: importedAuthor } },
  ]
  await importItems(owner, projectId, [task('1', from), comment('1', 'C', from)])
  const get = async (path: string) => (await owner.get(path)).body
  const version = await versionOf(owner, projectId)
  const [row] = await tasksOf(owner, projectId)
  const path = `/tasks/${row!.id}`
  const comments = await get(`${path}/comments`)
  expect([row, comments[0]]).toMatchObject([origin, origin])
  const events = await readFeed(owner, `/projects/${projectId}/events?after=1`)
  expect(events.map(({ after }) => after)).toMatchObject([origin, origin])
  for (const [of, body] of [
    [path, { ...row, title: 'N' }],
    [`/tasks/comments/${comments[0]!.id}`, { ...comments[0], text: 'N' }],
  ] as const)
    expect((await owner.patch(of, { ...body, importedAuthor: 'Someone' })).body).toMatchObject(origin)
  expectError(await owner.patch(path, { importedAuthors: 'Someone' }), 400)
  const { id: to } = await make(owner, '/projects', { name: 'Elsewhere' })
  expect((await owner.patch(path, { projectId: to })).body).toMatchObject(origin)
  expect((await get(`${path}/comments`))[0]).toMatchObject(origin)
  const past = `projectId=${projectId}&asOf=${version}`
  expect([await get(`${path}?${past}`), await get(`${path}/comments?${past}`)]).toEqual([
    row,
    comments,
  ] as never)
  const made = await make(owner, '/tasks', { ...row, id: newId(), number: 9, projectId, externalId: null })
  expect(made).toMatchObject({ importedAuthor: null })
  expect(await faultsOf(sql)).toEqual([])
})

test('due dates that have passed cause no events, also when a later import sets them', async () => {
  const { owner, projectId } = await newProject()
  const [past, future] = [{ dueDate: '2020-01-01' }, { dueDate: '2999-01-01', remindAt: '2999-01-01' }]
  for (const items of [
    [task('1', past), task('2', future), task('3')],
    [task('1', { dueDate: '2021-01-01' }), task('2', past), task('3', past)],
  ]) {
    expect(await importItems(owner, projectId, items)).toMatchObject({ lines: [], counts: { read: 3 } })
    const found = await Promise.all(kinds.map((kind) => findTasks(sql, kind, firstTask, 1_000)))
    expect(found.flat().filter((one) => one.projectId === projectId)).toEqual([])
  }
})

test('lines of the report have the outcome of the row, also if only its comments or blockers changed', async () => {
  const { owner, projectId } = await newProject()
  const file = [task('1', { blockedBy: ['2', '9', '1'], assignee: { name: 'Ada' } }), task('2'), task('3')]
  const report = async (more: ImportedItem[] = []) => {
    const { counts, lines } = await importItems(owner, projectId, [...file, ...more])
    return [counts, ...lines.map(({ row, outcome, message }) => [row, outcome, message])]
  }
  const foot = 'At the foot of the description: Blocked by: 9; Assignee: Ada'
  const others = `The blocker 9 is not in the file. The assignee "Ada" is not a member of the project. ${foot}`
  const lines = (outcome: string) =>
    [others, 'The task cannot block itself'].map((message) => [1, outcome, message])
  expect(await report()).toEqual([{ ...unchanged(0), read: 3, created: 3 }, ...lines('created')])
  expect(await report()).toEqual([unchanged(3), ...lines('unchanged')])
  const more = [comment('1', 'In brass')]
  expect(await report(more)).toEqual([{ ...unchanged(3), updated: 1, unchanged: 2 }, ...lines('updated')])
  file.splice(1, 2, task('2', { blockedBy: ['3'] }), task('3', { blockedBy: ['1'] }))
  const isCycle = 'The blocker 1 was left out, because the blockers would form a cycle'
  expect((await report(more)).at(-1)).toEqual([3, 'unchanged', isCycle])
})

test('finds people, statuses, labels and options in another Unicode form', async () => {
  const { owner, projectId } = await newProject()
  await owner.patch('/auth/me', { name: 'Zoë Müller' })
  const options = ['groß']
  await make(owner, `/projects/${projectId}/fields`, { key: 'size', name: 'Size', type: 'choice', options })
  await make(owner, `/projects/${projectId}/labels`, { name: 'Prüfung' })
  const mapping = { statuses: { Prüfen: 'IN_PROGRESS' }, people: { Mäx: owner.email } } as const
  for (const [n, form] of ['NFC', 'NFD'].entries()) {
    const names = ['Zoë Müller', 'zoë\u00a0müller', 'Mäx', 'Prüfen', 'prüfung', 'groß']
    const [zoe, other, max, list, label, size] = names.map((name) => name.normalize(form))
    const values = { list, labels: [label!], fields: { size: size! } }
    const tasks = [zoe!, other!, max!].map((name, i) =>
      task(`${10 * n + i + 1}`, { ...values, assignee: { name } }),
    )
    const field = { kind: 'field', key: 'size', name: 'Size', type: 'choice' } as const
    const items: ImportedItem[] = [{ ...field, options: [size!] }, ...tasks]
    expect(messagesOf(await importItems(owner, projectId, items, { mapping }))).toEqual([])
  }
  const expected = { assigneeId: owner.id, status: 'IN_PROGRESS', fields: { size: 'groß' } }
  expect((await tasksOf(owner, projectId)) as object[]).toMatchObject(Array(6).fill(expected))
  expect((await owner.get(`/projects/${projectId}/labels`)).body).toHaveLength(1)
})

test('adds a parent and blockers that are not in the file, and blockers above the limit, to the foot of the description', async () => {
  const { owner, projectId } = await newProject()
  const keys = upTo(52).map((n) => `${n + 10}`)
  const items = [
    task('1', { description: 'In brass', parent: '9', blockedBy: ['8', '2', '8', '7', '3'] }),
    task('2'),
    task('3', { parent: '2' }),
    task('4', { blockedBy: keys }),
    ...keys.map((key) => task(key)),
  ]
  const planned = await importItems(owner, projectId, items, { dryRun: true })
  const result = await importItems(owner, projectId, items)
  expect(result.lines).toEqual(planned.lines)
  const isFull = 'was left out: a task can have 50 blockers'
  expect(messagesOf(result)).toEqual([
    'The blocker 8 is not in the file. The blocker 7 is not in the file. The blocker 3 became a subtask. The parent "9" is not in the file. At the foot of the description: Blocked by: 8; Blocked by: 7; Blocked by: 3; Parent: 9',
    `The blocker 61 ${isFull}. The blocker 62 ${isFull}. At the foot of the description: Blocked by: 61; Blocked by: 62`,
  ])
  const tasks = (await tasksOf(owner, projectId)) as unknown as { id: string; blockedByIds: string[] }[]
  expect(tasks.slice(0, 3)).toMatchObject([
    {
      description: 'In brass\n\n---\nBlocked by: 8\nBlocked by: 7\nBlocked by: 3\nParent: 9',
      blockedByIds: [tasks[1]!.id],
    },
    {},
    { description: 'Blocked by: 61\nBlocked by: 62' },
  ])
  expect(tasks[2]!.blockedByIds).toHaveLength(50)
  expect((await importItems(owner, projectId, items)).counts).toEqual(unchanged(55))
})

test('links a blocker that only the project has', async () => {
  const [{ owner, projectId }, other] = [await newProject(), await newProject()]
  const file = [task('1', { blockedBy: ['2'] })]
  await importItems(other.owner, other.projectId, [task('2')])
  await importItems(owner, projectId, file)
  expect(await tasksOf(owner, projectId)).toMatchObject([{ description: 'Blocked by: 2', blockedByIds: [] }])
  await importItems(owner, projectId, [task('2')])
  const more = [...file, task('3', { blockedBy: ['2'] })]
  for (const dryRun of [true, false])
    expect((await importItems(owner, projectId, more, { dryRun })).lines).toEqual([])
  const [one, two] = await tasksOf(owner, projectId)
  expect(one).toMatchObject({ blockedByIds: [two!.id] })
})

test('adds as many lines of sub-items to a description as it has space for', async () => {
  const { owner, projectId } = await newProject()
  const parts = upTo(1_000).map((n) => task(`${n + 10}`, { parent: '1', labels: ['brass'] }))
  const items = [task('1'), task('1', { row: 2 }), ...parts]
  expect((await importItems(owner, projectId, items)).counts).toMatchObject({ created: 1, rejected: 1 })
  const [first] = await tasksOf(owner, projectId)
  const [line, next] = [11, 12].map((n) => `Subtask "Task ${n}": Labels: brass\n`)
  expect(first!.description).toStartWith(`${line}${next}`)
  expect(String(first!.description)).toHaveLength(10_000)
  const list = await owner.get(`/tasks/${first!.id}/subtasks?limit=200`)
  expect(list.body.map(({ title }) => title)).toEqual(upTo(200).map((n) => `Task ${n + 10}`))
})

test('keeps the highest number that a task can have, without a statement for each number', async () => {
  const { owner, projectId } = await newProject()
  const number = 1_000_000_000
  expect(await importItems(owner, projectId, [task('1', { number })])).toMatchObject({ state: 'done' })
  expect(await tasksOf(owner, projectId)).toMatchObject([{ number }])
})

test('imports tasks of a million characters', async () => {
  const { owner, projectId } = await newProject()
  const items = upTo(12).map((n) => task(`${n}`, { description: 'x'.repeat(900_000) }))
  const id = await queue(owner, projectId, gzipSync(fileOf(items)))
  await work(id)
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts: { created: 12 } })
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

test('a later file changes only its values, replaces edited comments, and keeps rows that it does not contain', async () => {
  const { owner, projectId } = await newProject()
  const values = { description: 'In brass', labels: ['bug'], fields: { size: 3 } }
  const at = { createdAt: '2026-01-02T03:04:05.000Z', author: { name: 'Ada' } }
  const children = (text: string, completed: boolean) => [
    comment('1', text, { key: 'c', ...at }),
    subtask('1', completed ? 'two' : 'one', { completed }),
  ]
  const first = [task('1', { ...values, dueDate: '2030-01-01' }), ...children('Oil it', false)]
  await importItems(owner, projectId, first)
  const [before] = await tasksOf(owner, projectId)
  await owner.patch(`/tasks/${before!.id}`, { priority: 'LOW' })
  const later = [task('1', { title: 'B', dueDate: '2031-01-01' }), ...children('Oil them', true)]
  const { counts, lines } = await importItems(owner, projectId, later)
  expect([counts, lines]).toEqual([{ ...unchanged(1), updated: 1, unchanged: 0 }, []])
  const [after] = await tasksOf(owner, projectId)
  const changed = { title: 'B', dueDate: '2031-01-01T00:00:00.000Z', priority: 'LOW' }
  expect(after).toEqual({ ...before!, ...changed, updatedAt: after!.updatedAt })
  const rows = async (name: string) => (await owner.get(`/tasks/${before!.id}/${name}`)).body
  expect(await rows('comments')).toMatchObject([{ text: 'Oil them' }])
  const subtasks = (await rows('subtasks')).map(({ title, completed }) => `${title} ${completed}`)
  expect(subtasks.sort()).toEqual(['one false', 'two true'])
})

test('sets the description of a project that has none, and keeps another one', async () => {
  const { owner, projectId } = await newProject()
  const items = [{ kind: 'project' as const, description: 'An engine' }]
  const descriptionOf = async () => (await owner.get(`/projects/${projectId}`)).body.description
  await importItems(owner, projectId, items)
  expect(await descriptionOf()).toBe('An engine')
  await owner.patch(`/projects/${projectId}`, { description: 'In brass' })
  await importItems(owner, projectId, items)
  expect(await descriptionOf()).toBe('In brass')
})

/** A reader that returns no item, and reads a large file repeatedly. */
const readEndlessly: Reader = async function* ({ open }) {
  let bytes = 0
  for await (const part of open()) bytes += part.length
  if (bytes < 1_000) return yield task('1')
  largeFiles++
  for (;;) for await (const part of open()) if (part.length === 0) yield task('0')
}
let largeFiles = 0
const runEndlessly = openRunImport(services, { readers: { planka: readEndlessly } })
const large = gzipSync(Buffer.alloc(9_000_000))
const small = fileOf([task('1')])

async function queueFor(
  { owner, projectId }: { owner: Person; projectId: string },
  file: string | Uint8Array,
) {
  const id = await queue(owner, projectId, file)
  const cancel = () => owner.delete(`/imports/${id}`)
  return {
    id,
    owner,
    cancel,
    runOnce: () => runEndlessly({ importId: id }, fast).catch((error: unknown) => error),
  }
}
const untilRead = async (count: number) =>
  expect(await until(async () => largeFiles === count || undefined, 30_000)).toBe(true)

test('a worker reads one large file at a time, and one file of an account; a cancelled import ends', async () => {
  const first = await queueFor(await newProject(), large)
  const working = work(first.id, fast, runEndlessly)
  await untilRead(1)
  const [second, third, other] = [
    await queueFor(await newProject(), large),
    await queueFor(await newProject(), large),
    await queueFor(await newProject(), small),
  ]
  for (const { runOnce } of [second, third]) expect(await runOnce()).toMatchObject({ delayMs: 10_000 })
  const { id: otherProject } = await make(first.owner, '/projects', { name: 'Other' })
  const newer = await queue(first.owner, otherProject, small, { dryRun: true })
  expect(await execute({ importId: newer }, fast).catch((error: unknown) => error)).toBeInstanceOf(SliceEnded)
  expect(await resultOf(newer)).toMatchObject({ state: 'queued' })
  // A small file of another account does not wait.
  expect(await other.runOnce()).toBeUndefined()
  expect(await resultOf(other.id)).toMatchObject({ state: 'done' })
  expect(largeFiles).toBe(1)
  await first.cancel()
  await working
  expect(await resultOf(first.id)).toMatchObject({ state: 'cancelled' })
  await work(newer)
  expect(await resultOf(newer)).toMatchObject({ state: 'done' })
  const next = work(second.id, fast, runEndlessly)
  await untilRead(2)
  await second.cancel()
  await next
  expect(await resultOf(second.id)).toMatchObject({ state: 'cancelled' })
})

const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined })
const oneOf = <T>(...values: T[]) => fc.constantFrom(...values)
const row = fc.nat(50)
const key = oneOf('1', '2', '3', '4', '5', '6')
const person = maybe(oneOf({ name: 'Someone' }, { name: 'Ada L.' }, { name: '', email: 'ada@example.com' }))
const instant = maybe(
  oneOf('2020-01-01', '1969-07-20T20:17:00Z', '12.13.2020', '9999-12-31T23:59:59-12:00', ''),
)
const title = fc.oneof(oneOf('Task', ' ', 'x'.repeat(600), 'a\u0000b', 'a\ud800', 'two\nlines'), fc.string())
const anyTask = fc.record(
  {
    ...{ kind: oneOf('task' as const), row, key, title, parent: maybe(key) },
    ...{ externalId: maybe(oneOf('X-1', 'x'.repeat(300))), notes: maybe(oneOf(['Estimate: 3'])) },
    description: maybe(oneOf('', 'Words', 'y'.repeat(20_500))),
    ...{ list: maybe(oneOf('Doing', 'Done!', 'Ideas')), status: maybe(oneOf('DONE', 'TODO')) },
    ...{ dueDate: instant, remindAt: instant, createdAt: instant, author: person, assignee: person },
    labels: maybe(fc.array(oneOf('bug', 'BUG', '', 'l'.repeat(60)), { maxLength: 3 })),
    fields: maybe(fc.dictionary(oneOf('size', 'Story points', '部署'), oneOf<unknown>(1, 'large', true, ''))),
    blockedBy: maybe(fc.array(key, { maxLength: 3 })),
  },
  { noNullPrototype: true },
)
const child = { row, task: key, key: maybe(key), createdAt: instant }
const anySubtask = fc.record({ kind: oneOf('subtask' as const), ...child, title, completed: fc.boolean() })
const anyComment = fc.record({ kind: oneOf('comment' as const), ...child, text: title, author: person })
const anyField = fc.record({
  ...{ kind: oneOf('field' as const), row, key: oneOf('size'), name: oneOf('Size') },
  ...{ type: oneOf('text', 'number', 'choice'), options: oneOf(['large']) },
})
const anyItems = fc.array(fc.oneof({ weight: 6, arbitrary: anyTask }, anySubtask, anyComment, anyField), {
  maxLength: 14,
})

test('a dry run has the report of the later import, and changes nothing', async () => {
  const property = fc.asyncProperty(anyItems, anyItems, async (first, second) => {
    const { owner, projectId } = await newProject()
    for (const file of [first, second] as ImportedItem[][]) {
      const before = await owner.get(`/projects/${projectId}/events`)
      const { id: _, ...dry } = await importItems(owner, projectId, file, { dryRun: true, batchRows: 2 })
      expect((await owner.get(`/projects/${projectId}/events`)).text).toBe(before.text)
      const { id: __, ...real } = await importItems(owner, projectId, file, { batchRows: 2 })
      expect(dry).toEqual(real)
      expect(real).toMatchObject({ state: 'done', error: null })
      const { read, created, updated, unchanged, rejected } = real.counts
      expect(created + updated + unchanged + rejected).toBe(read)
    }
    const { counts } = await importItems(owner, projectId, second as ImportedItem[])
    expect(counts).toMatchObject({ created: 0, updated: 0 })
  })
  await fc.assert(property, { numRuns: cases(6) })
})

test('a dry run with more labels than a project can have has the report of the later import', async () => {
  const { owner, projectId } = await newProject()
  await importItems(owner, projectId, [task('1'), task('2')])
  const tasks = upTo(600).map((n) => task(`${n}`, { labels: [`label ${n}`] }))
  const { id: _, ...dry } = await importItems(owner, projectId, tasks, { dryRun: true })
  const { id: __, ...real } = await importItems(owner, projectId, tasks)
  expect(real.lines.filter(({ message }) => message.includes('at most 500 labels'))).toHaveLength(100)
  expect(dry).toEqual(real)
})
